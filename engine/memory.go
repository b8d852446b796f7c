package engine

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/llmctl/llmctl/engine/cpu/attention"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// kvType is the format of K and V in the cache of a model; nil is a synthetic one.
func (c Config) kvType(w *model.Weights) (attention.DType, error) {
	d, err := attention.ParseDType(cmp.Or(c.KVDType, "auto"))
	switch {
	case err != nil:
		return d, err
	case w != nil:
		return d.For(w), nil
	case d == attention.Auto:
		return attention.Float32, nil
	}
	return d, nil
}

// kvTokenBytes is what a token occupies in the cache, and in that of a draft model.
func (c Config) kvTokenBytes(shape model.Shape) (int64, error) {
	d, err := c.kvType(c.Weights)
	if err != nil {
		return 0, err
	}
	bytes := attention.BytesPerToken(shape, d)
	if w := c.Speculate.Draft; c.Speculate.Method == DraftModel {
		if d, err = c.kvType(w); err != nil {
			return 0, err
		}
		bytes += attention.BytesPerToken(w.Shape, d)
	}
	return int64(bytes), nil
}

func (c Config) withMemory(shape model.Shape) (Config, model.Shape, error) {
	if err := c.checkCounts(); err != nil {
		return c, shape, err
	}
	if c.Executor != nil { // whose memory is its own affair
		if c.KVBytes > 0 {
			return c, shape, errors.New("a KV cache in bytes for an executor of the caller's own, expected a number of blocks")
		}
		c.Blocks = cmp.Or(c.Blocks, kv.BlocksFor(defaultKVTokens, c.BlockSize))
		return c, shape, nil
	}
	tokenBytes, err := c.kvTokenBytes(shape)
	if err != nil {
		return c, shape, err
	}
	if int64(c.BlockSize) > maxKVBytes/tokenBytes { // the product below could overflow
		return c, shape, fmt.Errorf("a KV block of %d tokens, expected less than 1 TiB", c.BlockSize)
	}
	blockBytes := int64(c.BlockSize) * tokenBytes
	asked := fmt.Sprintf("%d KV blocks of %d tokens", c.Blocks, c.BlockSize)
	switch {
	case c.Blocks > 0:
	case c.KVBytes > 0:
		asked = fmt.Sprintf("a KV cache of %d bytes", c.KVBytes)
		c.Blocks = int(c.KVBytes / blockBytes)
	case c.MemoryUtilization != 0:
		room, err := c.memoryForKV()
		if err != nil {
			return c, shape, err
		}
		asked = fmt.Sprintf("a memory utilization of %g", c.MemoryUtilization)
		most := int64(c.Sched.MaxNumSeqs) * int64(kv.BlocksFor(c.Sched.MaxModelLen, c.BlockSize))
		c.Blocks = int(min(room/blockBytes-1, most)) // one more is the null block
	default:
		asked = fmt.Sprintf("a KV cache for %d tokens", defaultKVTokens)
		c.Blocks = kv.BlocksFor(defaultKVTokens, c.BlockSize)
	}
	switch {
	case c.Blocks < 1:
		return c, shape, fmt.Errorf("%s cannot hold one block of %d tokens, which takes %d bytes", asked, c.BlockSize, blockBytes)
	case int64(c.Blocks) > maxKVBytes/blockBytes:
		return c, shape, fmt.Errorf("%s: expected less than 1 TiB, of which each block takes %d bytes", asked, blockBytes)
	case c.MemoryLimit > 0 && int64(c.Blocks) >= c.MemoryLimit/blockBytes: // one more is the null block
		return c, shape, fmt.Errorf("a KV cache of %d bytes does not fit into the memory of this machine, %d bytes",
			int64(c.Blocks)*blockBytes, c.MemoryLimit)
	}
	return c, shape, nil
}

// memoryForKV is what MemoryUtilization leaves for the cache, in bytes.
func (c Config) memoryForKV() (int64, error) {
	switch {
	case !(c.MemoryUtilization > 0 && c.MemoryUtilization <= 1):
		return 0, fmt.Errorf("a memory utilization of %g, expected more than 0 and at most 1", c.MemoryUtilization)
	case c.MemoryLimit == 0:
		return 0, errors.New("a memory utilization, but the memory of this machine is not known: give the KV cache in bytes")
	}
	all := int64(c.MemoryUtilization * float64(c.MemoryLimit))
	weights := c.Weights.Memory() + c.Speculate.Draft.Memory()
	if weights >= all {
		return 0, fmt.Errorf("a memory utilization of %g allows %d bytes, of which the weights take %d and leave none for the KV cache", c.MemoryUtilization, all, weights)
	}
	return all - weights, nil
}
