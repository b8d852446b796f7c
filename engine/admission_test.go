package engine

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// Requests are refused before their prompts fill the memory, with a word on when to
// come again; the first to wait always may.
func TestRequestsAreRefusedBeforeMemoryRunsOut(t *testing.T) {
	one := sched.Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 256, MaxModelLen: 256}
	for _, c := range []struct {
		name    string
		config  Config
		waiting []int  // prompt tokens of requests that are taken
		n       int    // answers of the next one
		refused int    // its prompt tokens
		why     string // a part of the reason
	}{
		{"the queue is full", Config{MaxQueue: 2}, []int{5, 5}, 1, 1, "too many requests are waiting"},
		{"the prompts have too many tokens", Config{MaxQueueTokens: 100}, []int{60}, 1, 50, "60 tokens, and with 50 more would have over 100"},
		{"each answer has the prompt", Config{MaxQueueTokens: 100}, []int{60}, 3, 20, "60 tokens, and with 60 more would have over 100"},
		{"one too long for the queue alone may wait", Config{MaxQueueTokens: 100}, []int{200}, 1, 1, "200 tokens"},
		{"it would wait for too long", Config{MaxQueueDelay: 3 * time.Second}, []int{5, 5}, 1, 5, "this one would start in about 4s, and may wait 3s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGate()
				c.config.Executor, c.config.Sched = g, one
				e := start(t, c.config)
				defer e.Close()
				defer g.release()
				submit(t, e, Request{Tokens: words(200, 1), MaxTokens: 50})
				<-g.arrived
				for i, n := range c.waiting {
					submit(t, e, Request{Tokens: words(n, uint64(i)), MaxTokens: 1})
				}
				if st := e.Stats(); st.QueueTokens != sumOf(c.waiting) {
					t.Errorf("%d tokens in the queue, want %d", st.QueueTokens, sumOf(c.waiting))
				}
				g.step()
				<-g.arrived // the queue is known to the scheduler
				time.Sleep(4 * time.Second)
				_, err := e.Submit(context.Background(), Request{N: c.n, Tokens: words(c.refused, 9), MaxTokens: 1})
				var busy *BusyError
				if !errors.As(err, &busy) || !errors.Is(err, ErrQueueFull) || !strings.Contains(err.Error(), c.why) {
					t.Fatalf("got %v, want %q", err, c.why)
				}
				if busy.RetryAfter != 4*time.Second {
					t.Errorf("to come again in %s, want what the first has waited already", busy.RetryAfter)
				}
				if st := e.Stats(); st.Refused != 1 {
					t.Errorf("%d refused, want 1", st.Refused)
				}
			})
		})
	}
}

func sumOf(numbers []int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

// What waits is counted down however it stops waiting.
func TestTheQueueForgetsWhoWaitsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		e := start(t, Config{Executor: g, MaxQueueTokens: 1000, Sched: sched.Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 256, MaxModelLen: 256}})
		defer e.Close()
		defer g.release()
		var streams []*Stream
		for i := range 3 {
			streams = append(streams, submit(t, e, Request{N: 2, Tokens: words(30, uint64(i)), MaxTokens: 2}))
		}
		<-g.arrived
		streams[2].Leave()
		g.release()
		for _, s := range streams {
			collectAll(t, s, 2)
		}
		synctest.Wait()
		if e.queue != (queue{}) || e.load != 0 {
			t.Errorf("%+v waits and %d answers are there, want none", e.queue, e.load)
		}
	})
}

// The pace is that of starts while somebody waits; those into free places are not.
func TestPaceOfTheQueue(t *testing.T) {
	var p pace
	at := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	turn := func(s float64, starts int, waiting bool) { p.starts = starts; p.turn(at(s), waiting) }
	turn(1, 5, false)
	if d := p.delay(0, at(9)); d != 0 {
		t.Errorf("nobody waits, but the delay is %s", d)
	}
	turn(10, 1, true)
	turn(12, 1, true) // one in two seconds
	if d := p.delay(3, at(12)); d != 8*time.Second {
		t.Errorf("three wait: %s, want 8s", d)
	}
	turn(13, 0, true)
	turn(14, 2, true) // one a second, twice
	if d := p.delay(1, at(14)); d != 3500*time.Millisecond {
		t.Errorf("smoothed: %s, want two of 1.75s", d)
	}
	if d := p.delay(1, at(24)); d != 11750*time.Millisecond {
		t.Errorf("nobody started for ten seconds: %s, want those and 1.75s", d)
	}
}

// A flood of answers that end as they should aborts nothing: neither Leave behind the
// end, nor a context that ends after it, reaches the engine.
func TestAnEndedRequestIsNeverAborted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := start(t, Config{Executor: says()})
		defer e.Close()
		for i := range 200 {
			ctx, leave := context.WithCancel(t.Context())
			s, err := e.Submit(ctx, Request{N: 1 + i%2, Tokens: []int32{0}, MaxTokens: 3})
			if err != nil {
				t.Fatal(err)
			}
			collectAll(t, s, 1+i%2)
			s.Leave()
			leave()
		}
		synctest.Wait()
		e.mu.Lock()
		defer e.mu.Unlock()
		if len(e.left) != 0 || e.stats.Finished[sched.Aborted] != 0 {
			t.Errorf("%d aborts were sent, %d requests aborted", len(e.left), e.stats.Finished[sched.Aborted])
		}
	})
}

// While the engine drains it takes nothing more, and gives the answers it owes.
func TestDraining(t *testing.T) {
	e := start(t, Config{Executor: says(), Sched: sched.Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 16, MaxModelLen: 64}, Blocks: 4})
	defer e.Close()
	s := submit(t, e, Request{Tokens: words(4, 1), MaxTokens: 3})
	e.Drain()
	if !e.Closed() {
		t.Error("it seems to take requests")
	}
	if _, err := e.Submit(t.Context(), Request{Tokens: words(4, 1), MaxTokens: 3}); !errors.Is(err, ErrClosed) {
		t.Errorf("another request: %v, want %v", err, ErrClosed)
	}
	if got := collectAll(t, s, 1)[0]; got.Finish != sched.Length || got.Output != 3 {
		t.Errorf("an answer of %d tokens that ended with %q, want all 3", got.Output, got.Finish)
	}
}
