package simulator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/modeled"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// TestLiveEngine runs the same requests through the live engine, with its modeled
// executor in virtual time, and through the simulator. Every step has to be the
// same: its time, the requests in it, their tokens, the numbers of their blocks,
// and whom it preempted.
func TestLiveEngine(t *testing.T) {
	for _, c := range scenes {
		for seed := range uint64(2) {
			t.Run(fmt.Sprintf("%s/%d", c.name, seed), func(t *testing.T) {
				sessions := c.sessions(seed)
				simulated := c.simulate(t, sessions)
				synctest.Test(t, func(t *testing.T) {
					compare(t, c.live(t, sessions), simulated)
				})
				if c.check != nil {
					c.check(t, simulated)
				}
			})
		}
	}
}

// compare finds the first step, and then the first request, in which the two differ.
func compare(t *testing.T, live, simulated played) {
	t.Helper()
	for i := range min(len(live.Steps), len(simulated.Steps)) {
		if diff := cmp.Diff(live.Steps[i], simulated.Steps[i]); diff != "" {
			t.Fatalf("step %d: the live engine (-) and the simulator (+) differ:\n%s", i, diff)
		}
	}
	if len(live.Steps) != len(simulated.Steps) || len(live.Steps) == 0 {
		t.Fatalf("the live engine ran %d steps, the simulator %d", len(live.Steps), len(simulated.Steps))
	}
	for i := range min(len(live.Requests), len(simulated.Requests)) {
		if diff := cmp.Diff(live.Requests[i], simulated.Requests[i]); diff != "" {
			t.Fatalf("request %d: the live engine (-) and the simulator (+) differ:\n%s", i, diff)
		}
	}
	if len(live.Requests) != len(simulated.Requests) {
		t.Fatalf("the live engine took %d requests, the simulator %d", len(live.Requests), len(simulated.Requests))
	}
	if diff := cmp.Diff(live.Stats, simulated.Stats); diff != "" {
		t.Errorf("counters: the live engine (-) and the simulator (+) differ:\n%s", diff)
	}
}

// A scene is a kind of load on an engine.
type scene struct {
	name      string
	sched     sched.Config
	blocks    int
	blockSize int
	serving   profiles.Serving
	classes   map[string]int // priorities

	count         int
	gap           time.Duration // mean time between sessions
	input, output int           // at most
	prefix        int           // tokens, shared by each of two groups
	turns         int           // at most
	cancel        float64       // share that leaves early
	tenants       int
	check         func(t *testing.T, o played) // that the scene shows what it is for
}

var base = sched.Config{MaxNumSeqs: 16, MaxNumBatchedTokens: 256, MaxModelLen: 2048, ReserveFullPrompt: true}

// with is base, changed.
func with(change func(*sched.Config)) sched.Config {
	c := base
	change(&c)
	return c
}

var scenes = []scene{
	{name: "chunked prefill", sched: with(func(c *sched.Config) { c.MaxNumBatchedTokens = 64 }), blocks: 2000, blockSize: 16,
		count: 60, gap: 40 * time.Millisecond, input: 400, output: 30,
		check: func(t *testing.T, o played) {
			if !slices.ContainsFunc(o.Steps, func(s step) bool {
				return slices.ContainsFunc(s.Entries, func(e entry) bool { return e.Start > 0 && e.Tokens > 1 && !e.Admitted })
			}) {
				t.Error("no prompt was split")
			}
		}},
	{name: "long prefill threshold", sched: with(func(c *sched.Config) { c.LongPrefillTokenThreshold = 50 }), blocks: 2000, blockSize: 16,
		count: 60, gap: 30 * time.Millisecond, input: 400, output: 30},
	{name: "whole prompts", sched: with(func(c *sched.Config) { c.DisableChunkedPrefill, c.MaxNumBatchedTokens = true, 2048 }), blocks: 2000, blockSize: 16,
		count: 60, gap: 30 * time.Millisecond, input: 600, output: 30},
	{name: "shared prefixes and turns", sched: base, blocks: 2000, blockSize: 16,
		count: 40, gap: 50 * time.Millisecond, input: 300, output: 40, prefix: 120, turns: 4,
		check: func(t *testing.T, o played) {
			if o.Stats.PrefixHits == 0 {
				t.Error("nothing was found in the prefix cache")
			}
		}},
	{name: "blocks of one token", sched: base, blocks: 6000, blockSize: 1,
		count: 30, gap: 50 * time.Millisecond, input: 100, output: 20, prefix: 33, turns: 3},
	{name: "no prefix cache", sched: with(func(c *sched.Config) { c.DisablePrefixCache = true }), blocks: 2000, blockSize: 16,
		count: 40, gap: 40 * time.Millisecond, input: 300, output: 40, prefix: 120, turns: 3},
	{name: "preemption", sched: base, blocks: 60, blockSize: 16,
		count: 60, gap: 25 * time.Millisecond, input: 200, output: 120, prefix: 64, turns: 2, check: preempts},
	{name: "preemption without reserve", sched: with(func(c *sched.Config) { c.ReserveFullPrompt, c.MaxNumBatchedTokens = false, 40 }), blocks: 50, blockSize: 16,
		count: 60, gap: 25 * time.Millisecond, input: 300, output: 120, check: preempts},
	{name: "evictions", sched: base, blocks: 90, blockSize: 8,
		count: 60, gap: 60 * time.Millisecond, input: 120, output: 60, prefix: 80, turns: 3},
	{name: "priorities", sched: with(func(c *sched.Config) { c.Policy = sched.Priority }), blocks: 60, blockSize: 16,
		classes: map[string]int{"batch": 5, "chat": 1}, count: 60, gap: 25 * time.Millisecond, input: 200, output: 120, turns: 2, check: preempts},
	{name: "aborts", sched: base, blocks: 80, blockSize: 16,
		count: 80, gap: 25 * time.Millisecond, input: 250, output: 100, prefix: 64, turns: 2, cancel: 0.4,
		check: func(t *testing.T, o played) {
			if !slices.ContainsFunc(o.Requests, func(r answer) bool { return r.Left && r.Tokens > 0 }) {
				t.Error("nobody left in the middle of an answer")
			}
		}},
	{name: "small budget", sched: with(func(c *sched.Config) { c.MaxNumBatchedTokens, c.MaxNumSeqs = 7, 5 }), blocks: 200, blockSize: 4,
		count: 30, gap: 100 * time.Millisecond, input: 60, output: 20, prefix: 17, turns: 2, cancel: 0.2},
	{name: "salt per tenant", sched: base, blocks: 2000, blockSize: 16, serving: profiles.Serving{CacheSalt: "tenant"}, tenants: 2,
		count: 40, gap: 40 * time.Millisecond, input: 300, output: 40, prefix: 160},
}

func preempts(t *testing.T, o played) {
	if o.Stats.Preemptions == 0 {
		t.Error("nothing was preempted")
	}
}

// played is what both sides tell.
type played struct {
	Steps    []step
	Requests []answer // in the order in which they were sent
	Stats    sched.Stats
}

type step struct {
	At        time.Duration
	Entries   []entry
	Preempted []sched.ID
}

type entry struct {
	ID                    sched.ID
	Start, Tokens, Cached int
	Blocks                []kv.Block
	Sample, Admitted      bool
}

// answer is what a client saw of a request.
type answer struct {
	Sent, First, Last time.Duration // First and Last are 0 without a token
	Tokens            int
	Left              bool
}

func (o *played) observe(b *sched.Batch) {
	s := step{At: b.At, Preempted: slices.Clone(b.Preempted)}
	for _, e := range b.Entries {
		s.Entries = append(s.Entries, entry{e.ID, e.Start, e.Tokens, e.Cached, slices.Clone(e.Blocks), e.Sample, e.Admitted})
	}
	if len(s.Preempted) == 0 {
		s.Preempted = nil
	}
	o.Steps = append(o.Steps, s)
}

// watcher is what was played as the simulator's observer.
type watcher struct{ o *played }

func (w watcher) Step(_, _ time.Duration, _ int, b *sched.Batch, st sched.Stats) {
	w.o.observe(b)
	w.o.Stats = sched.Stats{Preemptions: st.Preemptions, PrefixQueries: st.PrefixQueries, PrefixHits: st.PrefixHits}
}
func (watcher) Queued(time.Duration, int, sched.ID, int64)    {}
func (watcher) Left(time.Duration, int, sched.ID, bool)       {}
func (watcher) Happened(time.Duration, int, simulator.Change) {}

// sessions are those of the scene. Their times are drawn to the nanosecond, so that
// nothing comes at the very moment at which a step ends, of which the order is not
// defined.
func (c scene) sessions(seed uint64) (out []workload.Session) {
	r := rand.New(rand.NewPCG(seed, 17))
	at := time.Duration(0)
	for i := range c.count {
		s := workload.Session{Index: int64(i), Offset: at} // the first one at 0, where traces begin
		at += 1 + time.Duration(r.ExpFloat64()*float64(c.gap))
		if len(c.classes) > 0 {
			s.Class = []string{"batch", "chat"}[r.IntN(2)]
		}
		if c.tenants > 0 {
			s.Tenant = fmt.Sprint("tenant ", r.IntN(c.tenants))
		}
		for turn := range 1 + r.IntN(max(1, c.turns)) {
			t := workload.Turn{Group: workload.NoGroup, Input: 1 + r.IntN(c.input), Output: 1 + r.IntN(c.output)}
			if turn == 0 && c.prefix > 0 {
				t.Group, t.Prefix = r.IntN(2), c.prefix
				t.Input += c.prefix
			}
			if turn > 0 {
				t.Think = time.Duration(r.Int64N(int64(200*time.Millisecond))) + 1
			}
			if r.Float64() < c.cancel {
				t.CancelAfter = time.Duration(r.Int64N(int64(300*time.Millisecond))) + 1
			}
			s.Turns = append(s.Turns, t)
		}
		out = append(out, s)
	}
	return out
}

// kind is a replica of the scene, whose steps last some milliseconds.
func (c scene) kind(t *testing.T) simulator.Kind {
	t.Helper()
	m, err := profiles.LoadModel("llama-3.1-8b")
	if err != nil {
		t.Fatal(err)
	}
	device, err := profiles.LoadAccelerator("h100-sxm-80gb")
	if err != nil {
		t.Fatal(err)
	}
	facts := cost.NewFacts(m, shape.FormatOf(m), "bf16", cost.Parallel{})
	constants := cost.Pick(cost.Table(), "vllm", "hopper", facts)
	constants.RequestS = 0 // what it delays never comes to the engine itself
	serving := c.serving
	serving.Priorities = c.classes
	return simulator.Kind{Facts: facts, Device: device, Constants: constants, Sched: c.sched, Blocks: c.blocks, BlockSize: c.blockSize, Serving: serving}
}

func (c scene) simulate(t *testing.T, sessions []workload.Session) (o played) {
	t.Helper()
	w := profiles.Workload{Arrival: profiles.Arrival{Process: profiles.TraceArrival}}
	stream, err := workload.New(w, workload.Options{Recorded: sessions})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[int64]answer{}
	_, err = simulator.Run(t.Context(), simulator.Config{
		Pools:   []simulator.Pool{{Replicas: 1, Kind: c.kind(t)}},
		Streams: []*workload.Stream{stream}, Duration: time.Hour, Drain: time.Hour,
		Trace: watcher{&o},
	}, func(record.Window) {}, func(r *record.Record) {
		a := answer{Left: r.Outcome == record.Cancelled}
		a.Tokens, _ = r.Output.Value()
		a.Sent, _ = r.Sent.Since()
		a.First, _ = r.First.Since()
		a.Last, _ = r.Last.Since()
		answers[r.ID] = a
	})
	if err != nil {
		t.Fatal(err)
	}
	for id := range int64(len(answers)) {
		o.Requests = append(o.Requests, answers[id])
	}
	return o
}

// live sends the sessions to an engine, inside of a bubble of virtual time.
func (c scene) live(t *testing.T, sessions []workload.Session) (o played) {
	t.Helper()
	k := c.kind(t)
	clock := bubble{time.Now()}
	e, err := engine.New(engine.Config{
		Model: profiles.Model{Name: "modeled", VocabSize: tokenizer.Size, MaxPositions: k.Sched.MaxModelLen},
		Sched: k.Sched, Blocks: k.Blocks, BlockSize: k.BlockSize, Now: clock.Now, Observe: o.observe,
		Executor: modeled.New(modeled.Config{Facts: k.Facts, Device: k.Device, Constants: k.Constants, Clock: clock}),
	})
	if err != nil {
		t.Fatal(err)
	}
	var (
		clients sync.WaitGroup
		mu      sync.Mutex
		answers []*answer
	)
	for _, s := range sessions {
		clients.Go(func() {
			time.Sleep(s.Offset)
			conversation := []int32(nil)
			for turn := range s.Turns {
				time.Sleep(s.Turns[turn].Think)
				conversation = append(conversation, c.said(&s, turn, len(conversation))...)
				mu.Lock()
				a := &answer{Sent: clock.Now()}
				answers = append(answers, a)
				mu.Unlock()
				text := c.ask(t, e, clock, &s, turn, conversation, a)
				if a.Left {
					return // and does not come back
				}
				conversation = tokenizer.Encode(conversation, text)
			}
		})
	}
	clients.Wait()
	e.Close()
	for _, a := range answers {
		o.Requests = append(o.Requests, *a)
	}
	st := e.Stats()
	o.Stats = sched.Stats{Preemptions: st.Preemptions, PrefixQueries: st.PrefixQueries, PrefixHits: st.PrefixHits}
	return o
}

// ask sends a turn and reads its answer, unless its user leaves before.
func (c scene) ask(t *testing.T, e *engine.Engine, clock bubble, s *workload.Session, turn int, conversation []int32, a *answer) (text string) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := engine.Request{
		Tokens: slices.Clone(conversation), MaxTokens: s.Turns[turn].Output, Priority: c.classes[s.Class],
		Seeded: true, Sampling: model.Sampling{Seed: uint64(s.Index)},
	}
	if c.serving.CacheSalt == "tenant" {
		r.CacheSalt = s.Tenant
	}
	stream, err := e.Submit(ctx, r)
	if err != nil {
		t.Error(err)
		return ""
	}
	if after := s.Turns[turn].CancelAfter; after > 0 {
		leaves := time.AfterFunc(after, cancel)
		defer leaves.Stop()
	}
	for {
		event, err := stream.Next(ctx)
		if ctx.Err() != nil || err == nil && event.Finish == sched.Aborted {
			a.Left = true
			return text
		}
		if err != nil {
			t.Error(err)
			return text
		}
		if event.Tokens > 0 {
			if a.Tokens == 0 {
				a.First = clock.Now()
			}
			a.Last = clock.Now()
			a.Tokens += event.Tokens
			text += event.Text
		}
		if event.Finish != sched.Running {
			return text
		}
	}
}

// said are the tokens that a turn adds to a conversation: the prefix of its group,
// then what nobody else says. They are of a far larger vocabulary than the engine's,
// where no two sessions begin alike by chance.
func (c scene) said(s *workload.Session, turn, before int) (tokens []int32) {
	t := &s.Turns[turn]
	for i := range t.Input {
		who := uint64(1000 + s.Index)
		if i < t.Prefix {
			who = uint64(t.Group)
		}
		r := rand.New(rand.NewPCG(who, uint64(before+i)))
		tokens = append(tokens, tokenizer.Size+r.Int32N(1<<30))
	}
	return tokens
}

// bubble is the virtual time of a test.
type bubble struct{ start time.Time }

func (b bubble) Now() time.Duration           { return time.Since(b.start) }
func (b bubble) SleepUntil(end time.Duration) { time.Sleep(end - b.Now()) }
