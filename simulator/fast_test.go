package simulator_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/sizing"
)

// blind is an observer that sees nothing: a run that is observed goes step by step.
type blind struct{}

func (blind) Queued(time.Duration, int, sched.ID, int64)                        {}
func (blind) Step(time.Duration, time.Duration, int, *sched.Batch, sched.Stats) {}
func (blind) Left(time.Duration, int, sched.ID, bool)                           {}
func (blind) Happened(time.Duration, int, simulator.Change)                     {}

// outcome is a record with its output events written out.
type outcome struct {
	Record record.Record
	Events []time.Duration
}

// outcomes runs a configuration and writes out what became of every request.
func outcomes(t *rapid.T, c simulator.Config) (simulator.Result, []outcome) {
	var all []outcome
	result, err := simulator.Run(context.Background(), c, func(record.Window) {}, func(r *record.Record) {
		o := outcome{Record: *r}
		if r.Chunks != nil {
			for at := range r.Chunks.All() {
				o.Events = append(o.Events, at)
			}
		}
		o.Record.Chunks = nil
		all = append(all, o)
	})
	if err != nil {
		t.Fatal(err)
	}
	return result, all
}

// drawScenario draws a cluster in which blocks and places are scarce at times, and
// whose replicas may fail.
func drawScenario(t *rapid.T) simulator.Config {
	num := func(name string, low, high int) int { return rapid.IntRange(low, high).Draw(t, name) }
	sc := profiles.Scenario{
		Model:       rapid.SampledFrom([]string{"llama-3.1-8b", "gemma-3-4b", "qwen3-30b-a3b"}).Draw(t, "model"),
		Accelerator: "h100-sxm-80gb",
	}
	w := &sc.Workload
	w.Input = profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: float64(num("input", 1, 1500))}
	w.Output = profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: float64(num("output", 1, 300))}
	w.Arrival = profiles.Arrival{Process: profiles.Poisson, RatePerS: float64(num("rate", 1, 40))}
	if num("closed", 0, 2) == 0 {
		w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: num("concurrency", 1, 40)}
	}
	if num("prefix", 0, 1) == 0 {
		w.Prefix = profiles.Prefix{Groups: num("groups", 1, 3), Tokens: num("prefix tokens", 1, 300)}
	}
	if num("sessions", 0, 2) == 0 {
		w.Session = profiles.Session{Turns: profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 4}}
	}
	if num("cancel", 0, 2) == 0 {
		w.Cancel = profiles.Cancel{Fraction: 0.5, After: profiles.Delay{Kind: profiles.Uniform, Min: time.Millisecond, Max: 4 * time.Second}}
	}
	served, err := sizing.Serve(sizing.Request{Scenario: sc})
	if err != nil {
		t.Fatal(err)
	}
	seed := rapid.Uint64().Draw(t, "seed")
	stream, err := workload.New(sc.Workload, workload.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	kind := simulator.Kind{
		Facts: served.Facts, Device: served.Device, Constants: served.Constants,
		Sched: sched.Config{
			MaxNumSeqs: num("max_num_seqs", 1, 64), MaxNumBatchedTokens: num("max_num_batched_tokens", 64, 4096), MaxModelLen: 8192,
			LongPrefillTokenThreshold: max(0, num("threshold", -200, 200)), ReserveFullPrompt: num("reserve", 0, 1) == 1,
		},
		Blocks: num("blocks", 300, 1500), BlockSize: num("block size", 1, 32),
	}
	c := simulator.Config{
		Pools: []simulator.Pool{{Replicas: num("replicas", 1, 3), Kind: kind}}, Streams: []*workload.Stream{stream}, Seed: seed,
		Duration: 5 * time.Second, Drain: 10 * time.Second,
	}
	c.Cluster.Gateway.PropagateCancel = rapid.SampledFrom([]string{"", "off"}).Draw(t, "propagate_cancel")
	switch num("failure", 0, 3) {
	case 0:
		c.Cluster.Failures = []profiles.Failure{{Kind: "crash", At: 2 * time.Second, For: time.Second}}
	case 1:
		c.Cluster.Failures = []profiles.Failure{{Kind: "slow", At: time.Second, For: 2 * time.Second, Factor: 3}}
	}
	return c
}

// TestRoundsGiveTheSameRecords requires that rounds, with steps that nothing
// interrupts run in one go, leave the same records, events, samples and accounts as
// step by step.
func TestRoundsGiveTheSameRecords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawScenario(t)
		rounds, got := outcomes(t, c)
		c.Trace = blind{}
		steps, want := outcomes(t, c)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("records (-steps +rounds):\n%s", diff)
		}
		if diff := cmp.Diff(steps, rounds, cmp.Comparer(func(a, b float64) bool { return a == b || a != a && b != b })); diff != "" {
			t.Fatalf("results (-steps +rounds):\n%s", diff)
		}
		if !slices.ContainsFunc(got, func(o outcome) bool { return len(o.Events) > 0 }) && len(got) > 50 {
			t.Skip("no request got a token: the case shows nothing")
		}
	})
}
