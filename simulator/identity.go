package simulator

import (
	"encoding/binary"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// identity is the hash of the i-th block of a request: the same for blocks of the
// same content after the same content, as package kv wants it.
func (k *Kind) identity(r *request, i int) kv.Hash {
	end := (i + 1) * k.BlockSize
	var h kv.Hash
	first := &r.session.Turns[0]
	salt := uint64(0)
	if k.Serving.CacheSalt == "tenant" {
		salt = text(r.session.Tenant)
	}
	binary.LittleEndian.PutUint32(h[12:], uint32(i))
	switch {
	case len(r.turnOf().Hashes) > 0 && (end-1)/workload.HashTokens < len(r.turnOf().Hashes):
		// A block of a trace's block, or one that begins in one and ends in the next.
		binary.LittleEndian.PutUint64(h[:], mix(r.turnOf().Hashes[(end-1)/workload.HashTokens]^salt, uint64(r.stream)<<8|1))
	case first.Group != workload.NoGroup && end <= first.Prefix:
		binary.LittleEndian.PutUint64(h[:], mix(uint64(first.Group)^salt, uint64(r.stream)<<8|2))
	default:
		binary.LittleEndian.PutUint64(h[:], mix(uint64(r.session.Index), uint64(r.stream)<<8|3))
	}
	return h
}

// shared is the number of leading blocks of a request that others may ask for, as
// sched.Request has it: all of a conversation that goes on or of a request that may
// come a second time, else those of its trace's blocks and of its group's prefix.
// What a host tier holds also depends on blocks that nobody asks for.
func (p *replica) shared(r *request) int {
	if r.turn+1 < len(r.session.Turns) || p.s.config.Cluster.Gateway.Retry.Attempts > 1 || p.kind.Serving.Offload.MemoryBytes > 0 {
		return 0
	}
	first := &r.session.Turns[0]
	tokens := len(r.turnOf().Hashes) * workload.HashTokens
	if first.Group != workload.NoGroup {
		tokens = max(tokens, first.Prefix)
	}
	if n := tokens / p.kind.BlockSize; n > 0 {
		return n
	}
	return -1
}

// mix spreads two numbers over 64 bits (SplitMix64's finalizer; Steele, Lea and
// Flood, "Fast splittable pseudorandom number generators", 2014).
func mix(a, b uint64) uint64 {
	z := a*0x9e3779b97f4a7c15 + b
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// text is FNV-1a of a name, which is the same on every machine.
func text(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
