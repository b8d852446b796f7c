package simulator

import (
	"fmt"

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

// scheduling is how the scheduler is set up: its limits, and what Serving says.
func (k *Kind) scheduling() sched.Config {
	c, serving := k.Sched, &k.Serving
	c.Pipeline = k.Facts.Pipeline
	c.Static = serving.Batching == "static"
	c.LongPrefillTokenThreshold = max(c.LongPrefillTokenThreshold, serving.LongPrefillTokenThreshold)
	if serving.ChunkedPrefill == "off" {
		c.DisableChunkedPrefill = true
	}
	if serving.Policy == "priority" {
		c.Policy = sched.Priority
	}
	if k.contiguous() {
		c.DisablePrefixCache = true
	}
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
	case k.contiguous() && k.slabs() < 1:
		return fmt.Errorf("a KV cache of %d tokens holds no slab of max_model_len, %d tokens: lower it, or use kv_layout paged",
			k.Blocks*k.BlockSize, k.Sched.MaxModelLen)
	}
	return nil
}
