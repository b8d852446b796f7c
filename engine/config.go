package engine

import (
	"fmt"
	"math"
	"time"

	"github.com/llmctl/llmctl/engine/cpu"
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

// An Idler is an Executor that wants to know when it has nothing to do: the next
// step then follows none.
type Idler interface{ Idle() }

// Config says what the engine serves and with how much memory. The zero value
// serves the built-in model with default limits.
type Config struct {
	// Weights are those of a model that was loaded, with its Tokenizer. Without, the
	// engine serves Model with synthetic weights and the built-in tokenizer.
	Weights   *model.Weights
	Tokenizer tokenizer.Tokenizer
	// Model is zero for the built-in one. An Executor of the caller's own may
	// serve any; without one it has to be of a kind that package model knows.
	Model profiles.Model
	Seed  uint64 // of the synthetic weights, and of requests that bring none

	Sched     sched.Config // zero limits take those of DefaultLimits
	BlockSize int          // tokens per KV block; 0 is 16, as in vLLM, or MaxModelLen if that is less
	Blocks    int          // KV blocks that requests can use; 0 takes KVBytes
	KVBytes   int64        // memory for the KV cache; 0 takes MemoryUtilization
	// MemoryUtilization is the share of MemoryLimit that weights and KV cache may take
	// together; the cache has no more than Sched.MaxNumSeqs of the longest requests can
	// use. 0 is a cache with room for 64k tokens.
	MemoryUtilization float64
	KVDType           string // format of K and V in the cache, as attention.ParseDType reads it; empty is auto

	// Requests are refused with a *BusyError beyond these; 0 is no limit.
	MaxQueue       int           // requests taken in beyond Sched.MaxNumSeqs
	MaxQueueTokens int           // prompt tokens of requests that wait, unless only one does
	MaxQueueDelay  time.Duration // that a request would have to wait, at the pace of late

	Speculate Speculate // zero: not at all
	Workers   int       // goroutines that compute; 0 is GOMAXPROCS

	// MemoryLimit is the memory in which the KV cache has to fit, in bytes; 0 is
	// unknown. Go ends a process that cannot have the memory it asks for.
	MemoryLimit int64
	// OnError hears why a step, and with it every request, failed; nil: nobody.
	// It is called by the engine's loop, which waits for it.
	OnError func(error)

	Executor Executor             // nil: the CPU
	StepLog  func(*Step)          // hears of each step that ran, in the engine's loop, and keeps nothing of it; nil: nobody does
	Observe  func(*sched.Batch)   // sees each batch before it runs, in the engine's loop; nil: nobody does
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
	if c.Weights == nil && len(c.Model.Layers) == 0 && c.Model.Name == "" {
		builtin, err := profiles.LoadModel(profiles.BuiltinModel)
		if err != nil {
			return c, model.Shape{}, err
		}
		c.Model = *builtin
	}
	shape, err := c.shape()
	if err != nil {
		return c, shape, err
	}
	if c.Tokenizer == nil {
		c.Tokenizer = tokenizer.Builtin()
	}
	if c.Weights == nil && shape.Vocab < tokenizer.Size {
		return c, shape, fmt.Errorf("model %q has a vocabulary of %d, the built-in tokenizer needs %d", shape.Name, shape.Vocab, tokenizer.Size)
	}
	if c.Sched == (sched.Config{}) {
		c.Sched = DefaultLimits(shape.MaxPositions)
	}
	limits := DefaultLimits(shape.MaxPositions)
	if n := c.Sched.MaxNumBatchedTokens; n > 0 { // each running request has a token in a step
		limits.MaxNumSeqs = min(limits.MaxNumSeqs, n)
	}
	for _, f := range []struct {
		value  *int
		common int
	}{
		{&c.Sched.MaxNumSeqs, limits.MaxNumSeqs},
		{&c.Sched.MaxNumBatchedTokens, limits.MaxNumBatchedTokens},
		{&c.Sched.MaxModelLen, limits.MaxModelLen},
	} {
		if *f.value == 0 {
			*f.value = f.common
		}
	}
	if c.BlockSize == 0 {
		c.BlockSize = min(defaultBlockSize, max(c.Sched.MaxModelLen, 1))
	}
	if err := c.Sched.Validate(); err != nil {
		return c, shape, err
	}
	if c.Sched.MaxModelLen > shape.MaxPositions {
		return c, shape, fmt.Errorf("max_model_len %d is more than the %d positions of model %q", c.Sched.MaxModelLen, shape.MaxPositions, shape.Name)
	}
	if c.Speculate, err = c.Speculate.withDefaults(shape, c.Sched.MaxModelLen); err != nil {
		return c, shape, err
	}
	return c.withMemory(shape)
}

// shape is the sizes of the model. Of one that an Executor of the caller's own
// serves the engine needs but few.
func (c Config) shape() (model.Shape, error) {
	if c.Weights != nil {
		return c.Weights.Shape, c.Weights.Shape.Check()
	}
	if c.Executor == nil {
		return model.ShapeOf(c.Model)
	}
	s := model.Shape{Name: c.Model.Name, Vocab: c.Model.VocabSize, MaxPositions: c.Model.MaxPositions}
	for _, t := range c.Model.EOSTokens {
		s.EOS = append(s.EOS, int32(t))
	}
	if s.MaxPositions < 1 {
		return s, fmt.Errorf("model %q has %d positions", s.Name, s.MaxPositions)
	}
	return s, nil
}

func (c Config) checkCounts() error {
	for _, f := range []struct {
		name     string
		value    int64
		min, max int64
	}{
		{"block size", int64(c.BlockSize), 1, int64(c.Sched.MaxModelLen)}, // larger blocks would only waste memory
		{"number of KV blocks", int64(c.Blocks), 0, math.MaxInt32},        // kv.Block
		{"KV cache in bytes", c.KVBytes, 0, math.MaxInt64},
		{"memory limit in bytes", c.MemoryLimit, 0, math.MaxInt64},
		{"number of requests running at once (max_num_seqs)", int64(c.Sched.MaxNumSeqs), 1, maxNumSeqs},
		{"tokens of one step (max_num_batched_tokens)", int64(c.Sched.MaxNumBatchedTokens), 1, maxStepTokens},
		{"number of workers", int64(c.Workers), 0, maxWorkers},
		{"length of the queue", int64(c.MaxQueue), 0, math.MaxInt32},
		{"prompt tokens in the queue", int64(c.MaxQueueTokens), 0, math.MaxInt64},
		{"delay in the queue", int64(c.MaxQueueDelay), 0, math.MaxInt64},
	} {
		switch {
		case f.value < f.min && f.min == 0:
			return fmt.Errorf("the %s must not be negative, got %d", f.name, f.value)
		case f.value < f.min:
			return fmt.Errorf("the %s must be at least %d, got %d", f.name, f.min, f.value)
		case f.value > f.max && f.name == "block size":
			return fmt.Errorf("the block size of %d tokens is more than max_model_len %d: no sequence would fill a block", f.value, f.max)
		case f.value > f.max:
			return fmt.Errorf("the %s must be at most %d, got %d", f.name, f.max, f.value)
		}
	}
	return nil
}

const (
	maxKVBytes = 1 << 40
	// maxNumSeqs and maxStepTokens are far beyond what one server runs, and below what
	// its memory would overflow at.
	maxNumSeqs    = 1 << 16
	maxStepTokens = 1 << 24
	maxWorkers    = 1024 // far beyond the cores of any machine; each costs a goroutine and scratch memory
)

// executor returns the configured executor, or one on the CPU.
func (c Config) executor(shape model.Shape, poolBlocks int) (Executor, error) {
	if c.Executor != nil {
		return c.Executor, nil
	}
	weights := c.Weights
	if weights == nil {
		weights = model.Synthetic(shape, c.Seed)
	}
	return c.onCPU(weights, poolBlocks)
}

func (c Config) onCPU(w *model.Weights, poolBlocks int) (Executor, error) {
	d, err := c.kvType(w)
	if err != nil {
		return nil, err
	}
	return cpu.New(w, cpu.Config{
		Blocks: poolBlocks, BlockSize: c.BlockSize, MaxPositions: c.Sched.MaxModelLen, Workers: c.Workers, KV: d,
	})
}
