package route

import (
	"encoding/binary"
	"strings"

	"github.com/cespare/xxhash/v2"
)

const (
	// blockBytes is the size of a prompt's first blocks: four characters a token
	// times the 16 tokens of vLLM's KV blocks.
	blockBytes = 64
	// evenBlocks are of that size; after them it doubles every growth blocks. A
	// fixed size needs a bound on their number, and then prompts that are equal
	// up to the bound look identical, however long they are.
	evenBlocks = 256
	growth     = 64
)

// blockSize is the size of the i-th block of any prompt, bytes.
func blockSize(i int) int {
	if i < evenBlocks {
		return blockBytes
	}
	return blockBytes << min(1+(i-evenBlocks)/growth, 40)
}

// Blocks appends the blocks of a request's prompt to dst. The parts are what the
// engine makes its prompt of, in its order: the tools, which chat templates render
// first, then the messages; each is JSON text as the client wrote it, so a request
// is hashed without being decoded or written anew. Of the last part, which grows
// from turn to turn, the closing bracket or quote is left out: so the blocks of a
// conversation's turn begin with those of the turn before.
//
// Requests for different models, and with different salts, share no block. The
// salt is the one that is sent to the engine, whose cache is parted in the same
// way.
//
// A block is XXH64 of everything up to its end, and where that is; blocks that are
// not full are left out. A prompt of 16 KiB has 256 blocks, one of 1 MiB about 700.
func Blocks(dst []Block, model, salt string, parts ...string) []Block {
	var d xxhash.Digest
	d.Reset()
	for _, s := range []string{model, salt} {
		_, _ = d.WriteString(s)
		_, _ = d.Write(boundary)
	}
	i, at, room := 0, 0, blockSize(0)
	for n, part := range parts {
		if n == len(parts)-1 {
			part = open(part)
		}
		for len(part) >= room {
			_, _ = d.WriteString(part[:room])
			part = part[room:]
			at += blockSize(i)
			dst = append(dst, Block{})
			b := &dst[len(dst)-1]
			binary.LittleEndian.PutUint64(b[:8], d.Sum64())
			binary.LittleEndian.PutUint64(b[8:], uint64(at))
			i++
			room = blockSize(i)
		}
		_, _ = d.WriteString(part)
		_, _ = d.Write(boundary)
		room -= len(part)
	}
	return dst
}

// boundary parts what must not run into each other; it is no byte of UTF-8.
var boundary = []byte{0xff}

// open cuts the end of a JSON array or string off.
func open(raw string) string {
	const space = " \t\r\n"
	raw = strings.TrimRight(raw, space)
	if s, ok := strings.CutSuffix(raw, "]"); ok {
		return strings.TrimRight(s, space)
	}
	return strings.TrimSuffix(raw, `"`)
}
