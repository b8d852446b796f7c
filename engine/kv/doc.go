// Package kv is the block manager: a pool of fixed-size KV blocks with reference
// counts, a prefix cache keyed by chained block hashes, and least-recently-used
// eviction. It is pure: it holds block numbers, never tensors, and has no clock,
// goroutine or I/O. The live engine and the simulator use it unchanged.
package kv

// Block is the index of one physical KV block.
type Block int32

// Hash identifies the content of one full block and, through its chain, of
// everything before it. The live engine uses the first 128 bits of SHA-256 over
// the parent hash, the tokens and tagged extras such as the cache salt; the
// simulator packs a 64-bit id.
type Hash [16]byte
