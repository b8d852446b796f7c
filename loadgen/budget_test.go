package loadgen

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/mock"
)

func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBudget(10, 100)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		for i, step := range []struct {
			take  int
			after time.Duration // when room for it is made
			give  int
			ok    bool
		}{
			{take: 25, ok: true}, // alone, however large
			{take: 1, after: time.Second, give: 25, ok: true},
			{take: 9, ok: true},
			{take: 1, after: time.Second, give: 9, ok: true},
			{take: 9, ok: false}, // nobody makes room
		} {
			if step.give > 0 {
				time.AfterFunc(step.after, func() { b.give(step.give) })
			}
			began := time.Now()
			if ok := b.take(ctx, step.take); ok != step.ok || ok && time.Since(began) != step.after {
				t.Errorf("step %d: %v after %v", i, ok, time.Since(began))
			}
		}
		if time.Since(start) != time.Minute {
			t.Errorf("ended after %v", time.Since(start))
		}
	})
}

// TestBodiesAheadAreBounded is T65: bodies are built ahead, in a queue that is
// bounded: long prompts are not built by the hundred before
// they are due, and all of them are sent.
func TestBodiesAheadAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Client: client.Options{Endpoint: "http://localhost"}, Model: "m", Workload: fixed(t, constant(1), 500, 1), Requests: 100}
		ctx, cancel := context.WithCancel(t.Context())
		r := newRunner(o)
		r.sending, r.ahead = ctx, newBudget(10_000, lookAhead)
		var err error
		if r.client, err = client.New(r.clientOptions()); err != nil {
			t.Fatal(err)
		}
		jobs := make(chan *job, lookAhead)
		r.o.write = writeBody
		r.helpers.Go(func() {
			defer close(jobs)
			r.build(func(j *job) {
				select {
				case jobs <- j:
				case <-ctx.Done():
				}
			})
		})
		for sent := range 100 {
			synctest.Wait()
			if n := len(jobs); n < 2 || n > 10 {
				t.Fatalf("%d bodies are ready after %d", n, sent)
			}
			j := <-jobs
			if len(j.body) < 1000 {
				t.Fatalf("a body of %d bytes", len(j.body))
			}
			r.ahead.give(len(j.body))
		}
		cancel()
		r.helpers.Wait()
	})
}

// TestLastScrapeOutlivesTheCut: what the end of the drain cuts is requests; the
// counters of the server are read once more after it.
func TestLastScrapeOutlivesTheCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := scripted(&mock.Script{Pieces: mock.Cut(c("a")).Pieces, End: mock.Hang})
		server.Metrics = page
		network := mock.NewNetwork()
		defer network.Serve(server)()
		o := inMemory(network, Options{Workload: fixed(t, closed(1), 8, 4), Duration: 2 * time.Second, Drain: time.Second})
		o.MetricsInterval = time.Hour
		result, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if s := result.Run.Server; len(s) != 3 || s[0].At != 0 || s[1].At != 2*time.Second || s[2].At != 3*time.Second {
			t.Errorf("samples %+v", s)
		}
	})
}
