package sched

import (
	"testing"

	"github.com/llmctl/llmctl/engine/kv"
)

// TestServingAllocatesNothing: once tables and queues have their size, whole
// lives of requests, from Add to the end, allocate nothing.
func TestServingAllocatesNothing(t *testing.T) {
	s := New(Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 256}, kv.NewPool(60, 4))
	req := Request{Prompt: 20, MaxTokens: 30}
	results := make([]Result, 0, 8)
	serve := func() {
		for range 20 {
			req.ID++
			if err := s.Add(&req); err != nil {
				t.Fatal(err)
			}
		}
		s.Abort(req.ID)
		for s.Len() > 0 {
			b := s.Schedule(0)
			results = results[:0]
			for _, e := range b.Entries {
				if e.Sample {
					results = append(results, Result{ID: e.ID, Tokens: 1})
				}
			}
			s.Complete(b, results)
		}
	}
	if n := testing.AllocsPerRun(20, serve); n != 0 {
		t.Errorf("%v allocations for 20 requests, want 0", n)
	}
	if n := s.Stats().Preemptions; n == 0 {
		t.Error("nobody was preempted: the case leaves that path out")
	}
}

// TestDecodingAllocatesNothing: a table has room for all that its request can
// ever hold from the moment of admission.
func TestDecodingAllocatesNothing(t *testing.T) {
	pool := kv.NewPool(5000, 4)
	all, _ := pool.Allocate(nil, pool.Usable())
	pool.Release(all) // blocks that were never taken have no place in memory yet
	s := New(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 64, MaxModelLen: 4096}, pool)
	for id := ID(1); id <= 4; id++ {
		if err := s.Add(&Request{ID: id, Prompt: 5, MaxTokens: 4000}); err != nil {
			t.Fatal(err)
		}
	}
	results := make([]Result, 4)
	step := func() {
		b := s.Schedule(0)
		for i, e := range b.Entries {
			results[i] = Result{ID: e.ID, Tokens: 1}
		}
		s.Complete(b, results)
	}
	step()
	n := testing.AllocsPerRun(1, func() {
		for range 1500 {
			step()
		}
	})
	if n != 0 || s.Running() != 4 {
		t.Errorf("%v allocations in 1500 steps of %d requests, want 0 of 4", n, s.Running())
	}
}

// TestExecutorReadsWhileSchedulerWorks gives the race detector its chance: an
// executor reads its batch while the next one is composed, requests come and
// others are aborted.
func TestExecutorReadsWhileSchedulerWorks(t *testing.T) {
	s := New(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 32, MaxModelLen: 128}, kv.NewPool(40, 4))
	next := ID(0)
	add := func() {
		next++
		if err := s.Add(&Request{ID: next, Prompt: 10 + int(next)%20, MaxTokens: 10}); err != nil {
			t.Fatal(err)
		}
	}
	add()
	flying := s.Schedule(0)
	for range 300 {
		read := make(chan []Result)
		go func() {
			var results []Result
			for _, e := range flying.Entries {
				sum := e.Tokens
				for _, b := range e.Blocks {
					sum += int(b)
				}
				if e.Sample && sum > 0 {
					results = append(results, Result{ID: e.ID, Tokens: 1})
				}
			}
			read <- results
		}()
		add()
		add()
		s.Abort(next - ID(flying.Step%7))
		ahead := s.Schedule(0)
		s.Abort(next - ID(flying.Step%5))
		s.Complete(flying, <-read)
		flying = ahead
	}
	if err := s.CheckIntegrity(); err != nil {
		t.Error(err)
	}
}
