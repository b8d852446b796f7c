package sched

import (
	"testing"

	"github.com/llmctl/llmctl/engine/kv"
)

// BenchmarkRound is one round while nobody joins, ends or is preempted: 256 requests
// that decode, one by one and many at once.
func BenchmarkRound(b *testing.B) {
	const running, length = 256, 1 << 16
	fill := func() *Scheduler {
		s := New(Config{MaxNumSeqs: running, MaxNumBatchedTokens: 8192, MaxModelLen: length}, kv.NewPool(running*length/16+2, 16))
		for id := range ID(running) {
			req := &Request{ID: id, Prompt: 16, MaxTokens: length - 16, Shared: -1, Hash: func(int) kv.Hash { return kv.Hash{} }}
			if err := s.Add(req); err != nil {
				b.Fatal(err)
			}
		}
		s.End(s.Begin(0))
		s.End(s.Begin(0))
		return s
	}
	const atOnce = 1000 // rounds per iteration
	for _, tc := range []struct {
		name string
		run  func(s *Scheduler)
	}{
		{"one by one", func(s *Scheduler) {
			for range atOnce {
				s.End(s.Begin(0))
			}
		}},
		{"at once", func(s *Scheduler) {
			n := 0
			s.Advance(func(int, int64) bool { n++; return n <= atOnce })
		}},
	} {
		b.Run(tc.name, func(b *testing.B) {
			s, used := fill(), 0
			b.ReportAllocs()
			for b.Loop() {
				if used += atOnce; used > length-1000 {
					b.StopTimer()
					s, used = fill(), atOnce
					b.StartTimer()
				}
				tc.run(s)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*atOnce), "ns/round")
		})
	}
}
