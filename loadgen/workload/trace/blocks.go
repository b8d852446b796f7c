package trace

import (
	"fmt"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// blocks turns the ids of blocks of a trace into those of blocks of
// workload.HashTokens tokens.
type blocks struct {
	size int // tokens of a block of the trace, 0 until a row tells it
}

// String says what was done.
func (b *blocks) String() string {
	return fmt.Sprintf("blocks of %d tokens were regrouped to blocks of %d: what prompts share is rounded down to those", b.size, workload.HashTokens)
}

// regroup returns the ids of a prompt's blocks; ok is false when there are more
// than it has.
func (b *blocks) regroup(ids []int64, input int) (out []uint64, ok bool) {
	if b.size == 0 && len(ids) > 1 {
		b.size = blockSize(len(ids), input)
	}
	size := b.size
	if size == 0 {
		size = workload.HashTokens
	}
	if len(ids) > divideUp(input, size) {
		return nil, false
	}
	if size > workload.HashTokens {
		parts := size / workload.HashTokens
		for _, id := range ids {
			for part := range parts {
				out = append(out, join(join(seed, uint64(id)), uint64(part)))
			}
		}
		return out[:min(len(out), divideUp(input, workload.HashTokens))], true
	}
	parts := workload.HashTokens / size
	if parts == 1 {
		out = make([]uint64, len(ids))
		for i, id := range ids {
			out[i] = uint64(id)
		}
		return out, true
	}
	for len(ids) > 0 {
		n := min(parts, len(ids))
		h := join(seed, uint64(n))
		for _, id := range ids[:n] {
			h = join(h, uint64(id))
		}
		out = append(out, h)
		ids = ids[n:]
	}
	return out, true
}

// blockSize is the power of two of which a prompt has so many blocks: 512 in the
// traces of Mooncake, 16 in those of Bailian. 512 when none has.
func blockSize(n, input int) int {
	for size := 16; size <= 1<<14; size *= 2 {
		if divideUp(input, size) == n {
			return size
		}
	}
	return workload.HashTokens
}

func divideUp(a, b int) int { return (a + b - 1) / b }

// seed and join are FNV-1a over whole words (Fowler, Noll and Vo): equal ids in
// equal order give equal blocks.
const seed = 14695981039346656037

func join(h, word uint64) uint64 {
	h = (h ^ word) * 1099511628211
	return h ^ h>>32
}
