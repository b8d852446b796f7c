package sched

import (
	"testing"

	"github.com/llmctl/llmctl/engine/kv"
)

// BenchmarkStep is one Schedule and one Complete with 256 requests decoding and
// 1,000 waiting, prefix cache on: the hot path of the engine and the simulator.
func BenchmarkStep(b *testing.B) {
	for name, tc := range map[string]struct {
		policy Policy
		ahead  bool
	}{
		"fcfs":                {FCFS, false},
		"priority":            {Priority, false},
		"fcfs one step ahead": {FCFS, true},
	} {
		b.Run(name, func(b *testing.B) { benchmarkStep(b, tc.policy, tc.ahead) })
	}
}

func benchmarkStep(b *testing.B, policy Policy, ahead bool) {
	const running, queued, blockSize, window = 256, 1000, 16, 1 << 17
	s := New(Config{
		MaxNumSeqs: running, MaxNumBatchedTokens: 8192, MaxModelLen: window,
		Policy: policy, ReserveFullPrompt: true,
	}, kv.NewPool(40_000, blockSize))
	next := ID(0)
	add := func() {
		next++
		id := uint64(next)
		req := Request{ID: next, Prompt: 512, MaxTokens: 1024, Hash: func(i int) kv.Hash {
			return kv.Hash{byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24), byte(i), byte(i >> 8), 1}
		}}
		if err := s.Add(&req); err != nil {
			b.Fatal(err)
		}
	}
	for range running + queued {
		add()
	}
	results := make([]Result, 0, running)
	complete := func(batch *Batch) {
		results = results[:0]
		for _, e := range batch.Entries {
			r := Result{ID: e.ID}
			if e.Sample {
				r.Tokens = 1
			}
			results = append(results, r)
		}
		for range s.Complete(batch, results) {
			add() // keep the queue as long as it was
		}
	}
	for s.Running() < running {
		complete(s.Schedule(0))
	}
	var flying *Batch
	b.ReportAllocs()
	for b.Loop() {
		batch := s.Schedule(0)
		if !ahead {
			complete(batch)
			continue
		}
		if flying != nil {
			complete(flying)
		}
		flying = batch
	}
	b.ReportMetric(float64(s.Stats().Running), "running")
}
