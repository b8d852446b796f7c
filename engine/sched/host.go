package sched

import (
	"slices"

	"github.com/llmctl/llmctl/engine/kv"
)

// Load is a transfer from the host tier to be made: Tokens tokens from Start on of
// a request's sequence into the blocks that cover them, Blocks[Start/size …]. The
// request waits for it, out of the queue, and others overtake it (vLLM's
// WAITING_FOR_REMOTE_KVS). The blocks may still be written by batches that were
// handed out before: the transfer begins when those have run.
type Load struct {
	ID     ID
	Start  int
	Tokens int
	Blocks []kv.Block // covers tokens 0 … Start+Tokens−1; owned by the scheduler

	content []kv.Hash // pinned in the host tier
	seq     *sequence
}

// Loads are the transfers that the last Schedule began. The slice is valid until
// the next one; each is to be answered by Loaded, even if its request is aborted.
func (s *Scheduler) Loads() []Load { return s.loads }

// Loaded ends a transfer: the request goes back to its place in the queue, with
// its blocks, and others can share them. It panics when the load is not under way.
func (s *Scheduler) Loaded(l Load) {
	r := l.seq
	i := slices.Index(s.loading, r)
	if i < 0 {
		panic("sched: Loaded of a transfer that is not under way")
	}
	s.loading = slices.Delete(s.loading, i, i+1)
	for _, h := range l.content {
		s.pool.Host().Unpin(h)
	}
	r.inFlight--
	if r.state == ended {
		s.pool.Release(r.table)
		r.table = r.table[:0]
		if r.inFlight == 0 {
			s.recycle(r)
		}
		return
	}
	r.computed = l.Start + l.Tokens
	s.register(r, r.computed)
	r.state = waiting
	s.ready++
	s.waiting.add(r)
}

// onHost is how many tokens the host holds behind those that match found.
func (s *Scheduler) onHost(r *sequence) int {
	host := s.pool.Host()
	if host == nil || len(r.table) > 0 || !s.readsCache(r) || r.arrivesLoaded() {
		return 0
	}
	size := s.pool.BlockSize()
	return host.Match(r.req.Hash, len(s.hits), (r.length-1)/size) * size
}

// load begins to load tokens of the first in the queue, behind those that match
// found.
func (s *Scheduler) load(r *sequence, tokens int) {
	s.waiting.remove(r)
	s.take(r)
	start, size := r.extent, s.pool.BlockSize()
	var content []kv.Hash
	for i := start / size; i < (start+tokens)/size; i++ {
		h := r.req.Hash(i)
		s.pool.Host().Pin(h) // what the pool evicts for this load must not push it out
		content = append(content, h)
	}
	if !s.grow(r, start+tokens) {
		panic("sched: loading a request without blocks") // start has counted them
	}
	r.external = tokens
	r.state = loading
	r.inFlight++
	s.loading = append(s.loading, r)
	s.loads = append(s.loads, Load{
		ID: r.req.ID, Start: start, Tokens: tokens, Blocks: r.table[:len(r.table):len(r.table)],
		content: content, seq: r,
	})
}

// reclaim takes the blocks from the last in the queue that has loaded some, unless
// it is the given one, and reports whether there was any. Else requests that wait
// with blocks could keep everybody from running.
func (s *Scheduler) reclaim(except *sequence) bool {
	if s.ready == 0 {
		return false
	}
	var last *sequence
	for _, r := range s.waiting {
		if r != except && len(r.table) > 0 && (last == nil || r.place.compare(last.place) > 0) {
			last = r
		}
	}
	if last == nil {
		return false
	}
	s.drop(last)
	return true
}

// drop frees the blocks of a request that waits with some.
func (s *Scheduler) drop(r *sequence) {
	s.pool.Release(r.table)
	r.table = r.table[:0]
	r.registered, r.computed, r.extent, r.external = 0, 0, 0, 0
	s.ready--
}
