// Package kv is the block manager: a pool of fixed-size KV blocks with reference
// counts, a prefix cache keyed by chained block hashes, and least-recently-used
// eviction. It is pure: it holds block numbers, never tensors, and has no clock,
// goroutine or I/O. It can be driven in real or in virtual time.
//
// A block is in one of three states:
//
//	free         reference count 0, on the free list, no content worth keeping
//	cached-free  reference count 0, on the free list, and found by its hash
//	referenced   in at least one block table; may also be found by its hash
//
// Block 0 is the null block: it is never handed out, so a pool of N blocks has
// N−1 usable ones and a zero in a padded block table harms nobody. The free
// list is in order of eviction: blocks are taken from its head, freed blocks
// join its tail, and a cache hit takes a block out of the middle, each in
// constant time. A table is freed from its last block to its first, so that the
// tail of a prefix is evicted before the head that everybody shares.
//
// Two blocks may hold the same content, because two requests computed it at the
// same time. They are never merged: block tables only grow at their end.
//
// These are the rules of vLLM V1 (vllm/v1/core/block_pool.py and
// kv_cache_utils.py, FreeKVCacheBlockQueue); docs/scheduler.md lists where this
// package departs from them. What a hash covers, a tenant's cache salt
// included, is decided by whoever computes the hashes: requests whose chains
// differ in the first block never share anything.
package kv
