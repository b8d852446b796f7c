package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// layout is how an engine cuts the pool into blocks, after vLLM's
// v1/core/kv_cache_utils.py. Layers of one kind (full, or one window) form
// groups of equal size that share block numbers: one block holds one page in
// each layer of a group. With one kind there is one group.
type layout struct {
	groups    []kvGroup
	groupSize int64 // layers per group, the last group of a kind is padded
	pageBytes int64 // one block of one layer, equal for all kinds
	blockSize int
}

// kvGroup is one group of layers of a kind.
type kvGroup struct {
	kind        profiles.AttentionKind
	window      int
	blockTokens int // tokens per block: more where a token is cheaper
}

// kvKind counts the layers of one kind on one pipeline stage.
type kvKind struct {
	kind   profiles.AttentionKind
	window int
	bytes  int64 // per token and layer
	layers int
	like   profiles.Attention // one of the layers
}

// newLayout groups the layers of the fullest pipeline stage.
func newLayout(m *profiles.Model, d shape.DType, tensor, pipeline, blockSize int) (layout, error) {
	kinds := layerKinds(m, d, tensor, pipeline)
	if len(kinds) == 0 {
		return layout{}, fmt.Errorf("model %s has no layer that caches anything", m.Name)
	}
	l := layout{blockSize: blockSize}
	fewest, most := kinds[0].layers, kinds[0].layers
	for _, k := range kinds {
		fewest, most = min(fewest, k.layers), max(most, k.layers)
		l.pageBytes = max(l.pageBytes, k.bytes*int64(blockSize))
	}
	size := fewest
	if 2*most < 3*fewest {
		size = most // padding every kind to the largest wastes less than more groups
	}
	l.groupSize = int64(size)
	for _, k := range kinds {
		tokens := l.pageBytes / k.bytes
		if l.pageBytes%k.bytes != 0 {
			return layout{}, fmt.Errorf("model %s mixes layers of %d and %d bytes per token, whose pages can not be made equal", m.Name, l.pageBytes/int64(blockSize), k.bytes)
		}
		for n := 0; n < k.layers; n += size {
			l.groups = append(l.groups, kvGroup{k.kind, k.window, int(tokens)})
		}
	}
	return l, nil
}

// layerKinds counts caching layers by kind, in order of appearance.
func layerKinds(m *profiles.Model, d shape.DType, tensor, pipeline int) []kvKind {
	var kinds []kvKind
layers:
	for _, layer := range m.Layers {
		a := layer.Attention
		bytes := shape.LayerKVBytes(a, d, tensor)
		if bytes == 0 {
			continue
		}
		for i := range kinds {
			if k := &kinds[i]; k.kind == a.Kind && k.window == a.Window && k.bytes == bytes {
				k.layers++
				continue layers
			}
		}
		kinds = append(kinds, kvKind{a.Kind, a.Window, bytes, 1, a})
	}
	for i := range kinds {
		kinds[i].layers = (kinds[i].layers + pipeline - 1) / pipeline
	}
	return kinds
}

// blocks is how many blocks a pool holds.
func (l layout) blocks(pool int64) int64 {
	if pool <= 0 {
		return 0
	}
	return pool / l.pageBytes / l.groupSize
}

// perRequest is how many blocks a request of a length takes at its peak. A
// window's blocks come and go, but during prefill a whole step's tokens are
// held beside the window; a window rarely begins at a block's edge, hence + 1.
func (l layout) perRequest(tokens, batchedTokens int) int64 {
	var sum int64
	for _, g := range l.groups {
		held := tokens
		extra := int64(0)
		switch g.kind {
		case profiles.SlidingAttention:
			held = min(g.window-1+batchedTokens, tokens)
			extra = 1
		case profiles.ChunkedAttention:
			held = min(g.window+batchedTokens, tokens)
		}
		sum += int64(ceilDiv(held, g.blockTokens)) + extra
	}
	return sum
}

// average is how many blocks a decoding sequence of a mean length holds, with
// half a block per group for the one that is being filled.
func (l layout) average(tokens float64) float64 {
	sum := 0.0
	for _, g := range l.groups {
		held := tokens
		if g.window > 0 {
			held = min(held, float64(g.window))
		}
		sum += held/float64(g.blockTokens) + 0.5
	}
	return sum
}

// maxConcurrency is how many requests of a length fit at once.
func (l layout) maxConcurrency(blocks int64, tokens, batchedTokens int) float64 {
	return float64(blocks) / float64(l.perRequest(tokens, batchedTokens))
}

// tokens is what the engine logs as its cache's size in tokens. With several
// kinds of layers it is neither pool ÷ bytes per token nor what fits.
func (l layout) tokens(rule profiles.TokenRule, blocks int64, maxModelLen, batchedTokens int) int64 {
	if rule == profiles.TokensByConcurrency {
		return int64(l.maxConcurrency(blocks, maxModelLen, batchedTokens) * float64(maxModelLen))
	}
	return blocks / int64(len(l.groups)) * int64(l.smallestBlock())
}

// smallestBlock is the fewest tokens that a block of any group holds.
func (l layout) smallestBlock() int {
	smallest := l.groups[0].blockTokens
	for _, g := range l.groups {
		smallest = min(smallest, g.blockTokens)
	}
	return smallest
}

// longest is the longest request that fits alone, at most limit tokens.
func (l layout) longest(blocks int64, limit, batchedTokens int) int {
	low, high := 0, limit
	for low < high {
		middle := (low + high + 1) / 2
		if l.perRequest(middle, batchedTokens) <= blocks {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
