package engine

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/engine/cpu"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/profiles"
)

// Executor runs one step: it stores K and V of the sequences' tokens at the
// places their block tables name, and sets Next where Sample is set. It may
// read a block of the cache only through a table. Within one call, a sequence
// may read what another one writes (see package sched).
type Executor interface {
	Execute([]*model.Sequence) error
	Close()
}

// Config says what the engine serves and with how much memory. The zero value
// serves the built-in model with default limits.
type Config struct {
	Model profiles.Model // zero: the built-in model
	Seed  uint64         // of the synthetic weights, and of requests that bring none

	Sched     sched.Config // zero limits take those of DefaultLimits
	BlockSize int          // tokens per KV block; 0 is 16, as in vLLM
	Blocks    int          // KV blocks that requests can use; 0 takes KVBytes
	KVBytes   int64        // memory for the KV cache; 0 is room for 64k tokens
	MaxQueue  int          // requests taken in beyond Sched.MaxNumSeqs; 0 is no limit
	Workers   int          // goroutines that compute; 0 is GOMAXPROCS

	Executor Executor             // nil: the CPU
	Now      func() time.Duration // monotonic time since some start; nil: the wall clock
}

const (
	defaultBlockSize = 16
	defaultKVTokens  = 64 << 10
)

// DefaultLimits are the scheduler's limits for a model on the CPU. The token
// budget is much smaller than vLLM's 2048 or 8192: a step of 512 tokens of the
// built-in model takes about a tenth of a second on one core, which bounds what
// a long prompt adds to everybody's inter-token latency.
func DefaultLimits(maxPositions int) sched.Config {
	return sched.Config{
		MaxNumSeqs:          64,
		MaxNumBatchedTokens: 512,
		MaxModelLen:         maxPositions,
		ReserveFullPrompt:   true,
	}
}

// withDefaults fills what is zero and checks the rest.
func (c Config) withDefaults() (Config, model.Shape, error) {
	if len(c.Model.Layers) == 0 && c.Model.Name == "" {
		builtin, err := profiles.LoadModel(profiles.BuiltinModel)
		if err != nil {
			return c, model.Shape{}, err
		}
		c.Model = *builtin
	}
	shape, err := model.ShapeOf(c.Model)
	if err != nil {
		return c, shape, err
	}
	if shape.Vocab < tokenizer.Size {
		return c, shape, fmt.Errorf("model %q has a vocabulary of %d, the built-in tokenizer needs %d", shape.Name, shape.Vocab, tokenizer.Size)
	}
	if c.Sched == (sched.Config{}) {
		c.Sched = DefaultLimits(shape.MaxPositions)
	}
	limits := DefaultLimits(shape.MaxPositions)
	for _, f := range []struct {
		value  *int
		common int
	}{
		{&c.Sched.MaxNumSeqs, limits.MaxNumSeqs},
		{&c.Sched.MaxNumBatchedTokens, limits.MaxNumBatchedTokens},
		{&c.Sched.MaxModelLen, limits.MaxModelLen},
		{&c.BlockSize, defaultBlockSize},
	} {
		if *f.value == 0 {
			*f.value = f.common
		}
	}
	if err := c.Sched.Validate(); err != nil {
		return c, shape, err
	}
	if c.Sched.MaxModelLen > shape.MaxPositions {
		return c, shape, fmt.Errorf("max_model_len %d is more than the %d positions of model %q", c.Sched.MaxModelLen, shape.MaxPositions, shape.Name)
	}
	return c.withMemory(shape)
}

func (c Config) withMemory(shape model.Shape) (Config, model.Shape, error) {
	if c.BlockSize < 1 || c.Blocks < 0 || c.KVBytes < 0 || c.Workers < 0 || c.MaxQueue < 0 {
		return c, shape, fmt.Errorf("block size %d, blocks %d, KV bytes %d, workers %d and queue %d must not be negative",
			c.BlockSize, c.Blocks, c.KVBytes, c.Workers, c.MaxQueue)
	}
	tokenBytes := int64(shape.KVBytesPerToken())
	if int64(c.BlockSize) > maxKVBytes/tokenBytes { // the product below would overflow
		return c, shape, fmt.Errorf("a KV block of %d tokens, expected less than 1 TiB", c.BlockSize)
	}
	blockBytes := int64(c.BlockSize) * tokenBytes
	switch {
	case c.Blocks > 0:
	case c.KVBytes > 0:
		c.Blocks = int(c.KVBytes / blockBytes)
	default:
		c.Blocks = kv.BlocksFor(defaultKVTokens, c.BlockSize)
	}
	if c.Blocks < 1 || int64(c.Blocks) > maxKVBytes/blockBytes {
		return c, shape, fmt.Errorf("a KV cache of %d bytes holds %d blocks of %d tokens, expected at least 1 and less than 1 TiB",
			c.KVBytes, c.Blocks, c.BlockSize)
	}
	return c, shape, nil
}

const maxKVBytes = 1 << 40

// executor returns the configured executor, or one on the CPU.
func (c Config) executor(shape model.Shape, poolBlocks int) (Executor, error) {
	if c.Executor != nil {
		return c.Executor, nil
	}
	return cpu.New(model.Synthetic(shape, c.Seed), cpu.Config{
		Blocks: poolBlocks, BlockSize: c.BlockSize, MaxPositions: c.Sched.MaxModelLen, Workers: c.Workers,
	})
}
