package engine

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/llmctl/llmctl/engine/kv"
)

// chain computes the block hashes of one sequence, each over the hash before
// it, so that equal hashes mean equal text from the very start. Requests with
// different salts share nothing.
type chain struct {
	size   int // tokens per block
	salt   string
	hashes []kv.Hash
	bytes  []byte
}

// at returns the hash of the i-th block of tokens, which must be full.
func (c *chain) at(tokens []int32, i int) kv.Hash {
	for n := len(c.hashes); n <= i; n++ {
		c.hashes = append(c.hashes, c.next(tokens[n*c.size:(n+1)*c.size]))
	}
	return c.hashes[i]
}

// next hashes one block as SHA-256 over a domain tag, the parent, the number of
// tokens, the tokens, and in the first block the salt with its own tag and
// length, cut to 128 bits. Tags and lengths keep different extras from ever
// looking alike.
func (c *chain) next(tokens []int32) kv.Hash {
	b := append(c.bytes[:0], "llmctl/kv/v1\x00"...)
	if n := len(c.hashes); n > 0 {
		b = append(b, c.hashes[n-1][:]...)
	}
	b = binary.LittleEndian.AppendUint64(b, uint64(len(tokens)))
	for _, t := range tokens {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	if len(c.hashes) == 0 && c.salt != "" {
		b = append(b, "salt\x00"...)
		b = binary.LittleEndian.AppendUint64(b, uint64(len(c.salt)))
		b = append(b, c.salt...)
	}
	c.bytes = b
	sum := sha256.Sum256(b)
	return kv.Hash(sum[:len(kv.Hash{})])
}
