package engine

import (
	"context"
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
)

// soakFor is how long the soak goes on; make soak gives it ten minutes.
var soakFor = flag.Duration("soak", time.Second, "how long TestSoak keeps the engine at full load")

// TestSoak keeps the engine at full load, with a pool so small that requests are
// preempted, drafts, several answers, and clients that leave at any moment. When all is
// over, every block is free, nobody is left in any list, and the heap is what it was.
// That no goroutine is left is TestMain's to see.
func TestSoak(t *testing.T) {
	const clients = 12
	e := start(t, Config{
		Blocks: 60, BlockSize: 4, Workers: 2, MaxQueue: 100,
		Sched:     sched.Config{MaxNumSeqs: 10, MaxNumBatchedTokens: 48, MaxModelLen: 160, ReserveFullPrompt: true},
		Speculate: Speculate{Method: NGram, NgramMin: 1, Tokens: 3},
	})
	ctx, stop := context.WithTimeout(context.Background(), *soakFor)
	defer stop()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var all sync.WaitGroup
	for c := range clients {
		all.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(c), 3))
			for n := 0; ctx.Err() == nil || n < 5; n++ {
				soakOnce(t, e, rng)
			}
		})
	}
	select {
	case <-ctx.Done():
	case <-time.After(*soakFor / 4): // tables and caches have their size
	}
	early := heap()
	all.Wait()
	late := heap()
	e.Close()
	s := e.Stats()
	if s.Usage != 0 || s.Running+s.Waiting != 0 || e.load != 0 || e.queue != (queue{}) || len(e.requests)+len(e.answers) != 0 {
		t.Errorf("at the end: %+v, %d answers, %+v", s.Stats, e.load, e.queue)
	}
	if err := e.sched.CheckIntegrity(); err != nil {
		t.Error(err)
	}
	if s.Preemptions == 0 || s.Speculation.Accepted == 0 || s.Finished[sched.Aborted] == 0 || s.Finished[sched.Failed] != 0 || s.PrefixHits == 0 {
		t.Errorf("the soak leaves something out: %+v", s)
	}
	if late > early+8<<20 {
		t.Errorf("the heap grew from %d to %d bytes", early, late)
	}
	t.Logf("%d answers, %d preemptions, %d tokens, heap %d to %d bytes", s.Finished[sched.Length]+s.Finished[sched.Stop]+s.Finished[sched.Aborted], s.Preemptions, s.Generated, early, late)
}

// soakOnce is one request of a client, who may leave before it, at once, or after some
// events.
func soakOnce(t *testing.T, e *Engine, rng *rand.Rand) {
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	tokens := append(words(1+rng.IntN(40), uint64(rng.IntN(3))), words(1+rng.IntN(30), rng.Uint64())...)
	r := Request{N: 1 + rng.IntN(3), Tokens: tokens, MaxTokens: 1 + rng.IntN(60), IgnoreEOS: rng.IntN(2) == 0}
	r.Sampling = model.Sampling{Temperature: float32(rng.IntN(2)), Frequency: float32(rng.IntN(2))}
	if rng.IntN(3) == 0 {
		r.Stop, r.Logprobs = []string{"e "}, true
	}
	events := -1
	switch rng.IntN(4) {
	case 0:
		events = rng.IntN(20)
	case 1:
		var leaving sync.WaitGroup
		defer leaving.Wait()
		leaving.Go(leave) // at a time that nobody knows
	}
	s, err := e.Submit(ctx, r)
	if err != nil {
		if ctx.Err() == nil {
			t.Errorf("Submit: %v", err)
		}
		return
	}
	defer s.Leave()
	for ; events != 0; events-- {
		if _, err := s.Next(context.Background()); err != nil {
			return
		}
	}
}
