package simulator

import (
	"fmt"
	"math"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/sched"
)

// engine is the scheduler of one replica, with its pool of blocks.
func (k *Kind) engine() *sched.Scheduler {
	blocks, size := k.Blocks, k.BlockSize
	if k.contiguous() {
		blocks, size = k.slabs(), k.Sched.MaxModelLen
	}
	pool := kv.NewPool(blocks+1, size) // one is the null block
	if n := k.hostBlocks(); n > 0 {
		pool.SetHost(kv.NewHost(n))
	}
	return sched.New(k.scheduling(), pool)
}

// scheduling is how the scheduler is set up: its limits, and what the replica's
// stages and ways of serving ask of it.
func (k *Kind) scheduling() sched.Config {
	c := k.Sched
	c.Pipeline = k.Facts.Pipeline
	c.Static = k.Serving.Batching == "static"
	c.DisablePrefixCache = c.DisablePrefixCache || k.contiguous()
	return c
}

// contiguous tells whether each request holds one slab of the longest length that
// the model is served with, as engines did before paging.
func (k *Kind) contiguous() bool { return k.Serving.KVLayout == "contiguous" }

// slabs is how many of them the pool makes.
func (k *Kind) slabs() int { return k.Blocks * k.BlockSize / k.Sched.MaxModelLen }

// check reports what can not be simulated of a kind.
func (k *Kind) check() error {
	if err := k.scheduling().Validate(); err != nil {
		return err
	}
	switch {
	case k.Blocks < 1 || k.BlockSize < 1:
		return fmt.Errorf("a KV cache of %d blocks of %d tokens holds nothing", k.Blocks, k.BlockSize)
	case k.Blocks >= math.MaxInt32:
		return fmt.Errorf("a KV cache of %d blocks is more than a simulation holds, %d: lower kv_cache_memory or raise block_size", k.Blocks, math.MaxInt32-1)
	case k.contiguous() && k.slabs() < 1:
		return fmt.Errorf("a KV cache of %d tokens holds no slab of max_model_len, %d tokens: lower it, or use kv_layout paged",
			k.Blocks*k.BlockSize, k.Sched.MaxModelLen)
	case k.Serving.Batching == "static" && (k.Role == prefill || k.Role == decode):
		return fmt.Errorf("batching static in a %s pool: a static batch computes its prompts and answers in one place", k.Role)
	}
	return nil
}
