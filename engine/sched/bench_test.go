package sched

import (
	"testing"

	"github.com/llmctl/llmctl/engine/kv"
)

// BenchmarkStep is one Schedule and one Complete with 256 requests decoding and
// 1,000 waiting: the hot path of the engine. Requests of 512 prompt and 1,024
// output tokens end and are replaced, so that admission is in it too; the pool is
// full of cached blocks, so that every new block evicts one.
func BenchmarkStep(b *testing.B) {
	for _, tc := range []struct {
		name  string
		cfg   Config
		ahead bool
	}{
		{"fcfs", Config{Policy: FCFS}, false},
		{"fcfs one step ahead", Config{Policy: FCFS}, true},
		{"fcfs no prefix cache", Config{Policy: FCFS, DisablePrefixCache: true}, false},
		{"priority", Config{Policy: Priority}, false},
	} {
		b.Run(tc.name, func(b *testing.B) { benchmarkStep(b, tc.cfg, tc.ahead) })
	}
}

func benchmarkStep(b *testing.B, cfg Config, ahead bool) {
	const running, queued = 256, 1000
	cfg.MaxNumSeqs, cfg.MaxNumBatchedTokens, cfg.MaxModelLen = running, 8192, 1<<17
	cfg.ReserveFullPrompt = true
	s := New(cfg, kv.NewPool(40_000, 16))
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
