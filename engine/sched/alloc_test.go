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
