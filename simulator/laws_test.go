package simulator

import (
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

// TestLaws: whatever happens in a cluster, no request is lost or served twice,
// tokens that were sampled are tokens that were received, blocks never exceed
// their pool, and time never runs backwards.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		w := newWatched(t, c)
		w.run()
		w.checkEnd()
	})
}

// TestSameBytes: the same configuration and seed give the same records.
func TestSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := drawConfig(t)
		first, second := newWatched(t, c), newWatched(t, c)
		first.run()
		second.run()
		if a, b := fmt.Sprint(first.log), fmt.Sprint(second.log); a != b {
			t.Fatalf("records differ:\n%s\n%s", a, b)
		}
	})
}

// watched is a run under the laws.
type watched struct {
	t    *rapid.T
	s    *sim
	seen map[int64]bool
	log  []string
	last time.Duration // end of the latest record

	mark     time.Duration // up to where inside is
	inside   time.Duration // integral of the requests in the system
	stayed   time.Duration // sum of their times
	received float64       // tokens
}

func newWatched(t *rapid.T, c Config) *watched {
	if err := c.Check(); err != nil {
		t.Fatalf("checking: %v", err)
	}
	w := &watched{t: t, seen: map[int64]bool{}}
	for i, workloads := range c.Streams {
		stream, err := workload.New(workloads.Workload(), workload.Options{Seed: uint64(i) + 1})
		if err != nil {
			t.Fatal(err)
		}
		c.Streams[i] = stream
	}
	c.Trace = stepwise{}
	w.s = newSim(c, func(record.Window) {}, w.add)
	return w
}

// run is Run, with a look at everything after each event.
func (w *watched) run() {
	for n := 0; ; n++ {
		e, ok := w.s.agenda.next()
		if !ok {
			break
		}
		if e.at < w.s.now {
			w.t.Fatalf("time runs from %v back to %v", w.s.now, e.at)
		}
		w.s.now = e.at
		w.pass(w.s.open)
		e.do.happen(w.s)
		w.pass(w.s.open) // a replica may have run on while nothing else happened
		if n%16 == 0 {
			w.checkReplicas()
		}
		if w.s.ended >= 0 && w.s.open == 0 {
			break
		}
		if n > 1_000_000 {
			w.t.Fatalf("a million events by %v, %d requests in flight", w.s.now, w.s.open)
		}
	}
	w.s.endWindow()
	w.s.finish()
}

// pass adds the time since the last pass to the integral.
func (w *watched) pass(open int) {
	w.inside += time.Duration(open) * (w.s.now - w.mark)
	w.mark = w.s.now
}

// add checks a record.
func (w *watched) add(r *record.Record) {
	t := w.t
	if w.seen[r.ID] {
		t.Fatalf("request %d has two records", r.ID)
	}
	w.seen[r.ID] = true
	closed, ok := r.Closed.Since()
	sent, _ := r.Sent.Since()
	if !ok || closed < w.last || closed < sent {
		t.Fatalf("request %d sent at %v ends at %v, after one that ended at %v", r.ID, sent, closed, w.last)
	}
	w.last = closed
	w.stayed += w.s.now - sent
	w.pass(w.s.open + 1) // this one has been counted out already
	w.log = append(w.log, fmt.Sprintf("%d %v %v %v %v %v %v %v %v\n", r.ID, r.Sent, r.First, r.Last, r.Closed, r.Outcome, r.Failure, r.Output, r.Endpoint))

	moments := []record.Moment{r.Sent, r.First, r.Last, r.Closed}
	if due, open := r.Scheduled.Since(); open && due > sent {
		t.Fatalf("request %d due at %v was sent at %v", r.ID, due, sent)
	}
	before := time.Duration(0)
	for i, m := range moments {
		at, known := m.Since()
		if known && at < before {
			t.Fatalf("request %d: moment %d is at %v, before %v", r.ID, i, at, before)
		}
		before = max(before, at)
	}
	w.addOutput(r)
}

// addOutput checks what a request received.
func (w *watched) addOutput(r *record.Record) {
	t := w.t
	output, known := r.Output.Value()
	chunks := 0
	if r.Chunks != nil {
		at := time.Duration(0)
		for end, tokens := range r.Chunks.All() {
			n, _ := tokens.Value()
			chunks += n
			if end < at {
				t.Fatalf("request %d: a token at %v comes after one at %v", r.ID, end, at)
			}
			at = end
		}
	}
	if chunks != output {
		t.Fatalf("request %d has %d tokens in its chunks and %d in all", r.ID, chunks, output)
	}
	asked, _ := r.AskedOutput.Value()
	prompt, _ := r.AskedInput.Value()
	if output > asked || r.Outcome == record.OK && (!known || output < min(asked, w.window()-prompt)) {
		t.Fatalf("request %d asked for %d tokens and got %d: %s", r.ID, asked, output, r.Outcome)
	}
	if cached, ok := r.Cached.Value(); ok && cached >= prompt {
		t.Fatalf("request %d has %d tokens of %d cached", r.ID, cached, prompt)
	}
	if _, provided := r.Chunks.(*stay); !provided {
		w.received += float64(output)
	}
}

// window is the shortest that a replica has.
func (w *watched) window() int {
	least := 1 << 30
	for _, p := range w.s.config.Pools {
		least = min(least, p.Kind.Sched.MaxModelLen, p.Kind.Blocks*p.Kind.BlockSize)
	}
	return least
}

// checkReplicas looks into the replicas.
func (w *watched) checkReplicas() {
	held := map[*replica]int{}
	for _, r := range w.s.flying {
		if r.held {
			held[r.replica]++
		}
		if r.ended {
			w.t.Fatalf("request %d has ended and is in flight", r.id)
		}
	}
	if n := len(w.s.flying) - len(w.s.inFlight(func(r *request) bool { return r.orphan })); n != w.s.open {
		w.t.Fatalf("%d requests in flight that somebody waits for, %d counted", n, w.s.open)
	}
	for _, p := range w.s.front.replicas {
		if p.load != held[p] {
			w.t.Fatalf("replica %d has a load of %d and %d requests", p.index, p.load, held[p])
		}
		if p.state == down {
			continue
		}
		if err := p.sched.CheckIntegrity(); err != nil {
			w.t.Fatalf("replica %d: %v", p.index, err)
		}
		if n := p.sched.Len() - len(p.leaving); n > p.load {
			w.t.Fatalf("replica %d serves %d requests and has a load of %d", p.index, n, p.load)
		}
		if busy := p.sched.Running() > 0; busy && p.idle() && (p.pipe == nil || len(p.pipe.flights) == 0) {
			w.t.Fatalf("replica %d has requests that run, and no step", p.index)
		}
	}
}

// checkEnd holds the run's sums against each other.
func (w *watched) checkEnd() {
	t, s := w.t, w.s
	w.checkReplicas()
	if int64(len(w.seen)) != s.ids || s.open != 0 {
		t.Fatalf("%d requests were sent, %d have a record, %d are in flight", s.ids, len(w.seen), s.open)
	}
	if w.inside != w.stayed {
		t.Fatalf("Little's law: requests were in the system for %v by their number and %v by their times", w.inside, w.stayed)
	}
	sampled, unheard, dropped := 0.0, 0.0, false
	for _, p := range s.front.replicas {
		sampled += p.counts.generated
		unheard += p.counts.unheard
		dropped = dropped || p.state == down
	}
	for _, r := range s.flying { // nobody waits for them
		r.soFar()
		unheard += float64(r.produced - r.heard)
	}
	if sampled != w.received+unheard {
		t.Fatalf("%g tokens were sampled, %g received, %g for nobody (a replica is down: %t)", sampled, w.received, unheard, dropped)
	}
	if there := fleetSeconds(s.result); math.Abs(there-s.result.ReplicaSeconds) > 1e-6 {
		t.Fatalf("%g replica-seconds were paid for, %g were there: window %v, fleet %v", s.result.ReplicaSeconds, there, s.result.Window, s.result.Fleet)
	}
	if !slices.IsSortedFunc(s.result.Fleet, func(a, b FleetChange) int { return int(a.At - b.At) }) {
		t.Fatalf("fleet out of order: %v", s.result.Fleet)
	}
}

// fleetSeconds is the time of all replicas in the window, by their number.
func fleetSeconds(r Result) float64 {
	var sum time.Duration
	for i, c := range r.Fleet {
		until := r.Window.End
		if i+1 < len(r.Fleet) {
			until = min(until, r.Fleet[i+1].At)
		}
		sum += time.Duration(c.Serving+c.Starting+c.Draining+c.Down) * max(0, until-max(c.At, r.Window.Start))
	}
	return sum.Seconds()
}

// small is a kind whose steps last as long as their work, and which is full soon.
func small(t *rapid.T, role string) Kind {
	blocks := rapid.IntRange(12, 60).Draw(t, "blocks")
	k := Kind{
		Role: role,
		Facts: cost.Facts{Layers: 4, Hidden: 64, Tensor: 1, Pipeline: 1, Data: 1, SharedBytes: 1e9, LayerParameters: 5e8,
			KV: []cost.KVKind{{BytesPerToken: 1e5, Width: 1e4, DecodeWidth: 1e4}}},
		Device:    &profiles.Accelerator{BandwidthBytesPerS: 1e12, BF16FlopsPerS: 1e14},
		Constants: cost.Constants{StepS: 1e-3, SequenceS: 1e-5, RequestS: 2e-3, MemoryFactor: 1, ComputeFactor: 1},
		Sched: sched.Config{
			MaxNumSeqs: rapid.IntRange(1, 12).Draw(t, "seqs"), MaxNumBatchedTokens: rapid.IntRange(16, 96).Draw(t, "budget"),
			MaxModelLen: rapid.IntRange(60, 400).Draw(t, "length"), Policy: sched.Policy(rapid.IntRange(0, 1).Draw(t, "policy")),
			ReserveFullPrompt: rapid.Bool().Draw(t, "reserve"), DisablePrefixCache: rapid.Bool().Draw(t, "no cache"),
			LongPrefillTokenThreshold: rapid.SampledFrom([]int{0, 0, 24}).Draw(t, "threshold"),
		},
		Blocks: blocks, BlockSize: 8, Accelerators: 1, USDPerHour: 2,
		Slowdown: rapid.SampledFrom([]float64{0, 1.5}).Draw(t, "slowdown"),
		Serving:  profiles.Serving{Priorities: map[string]int{"batch": 1}, CacheSalt: rapid.SampledFrom([]string{"none", "tenant"}).Draw(t, "salt")},
	}
	drawWay(t, &k)
	return k
}

// drawWay has a kind serve in one of the ways that there are.
func drawWay(t *rapid.T, k *Kind) {
	switch rapid.IntRange(0, 7).Draw(t, "way") {
	case 0:
		k.Serving.Speculative = profiles.Speculative{Tokens: rapid.IntRange(1, 4).Draw(t, "drafts"), Acceptance: 0.6, DraftCost: 0.1}
	case 1:
		if k.Role == "" {
			k.Serving.Batching = "static"
		}
	case 2:
		k.Serving.KVLayout = "contiguous"
		k.Sched.MaxModelLen = min(k.Sched.MaxModelLen, k.Blocks*k.BlockSize)
	case 3:
		k.KVBytesPerToken = 1e5
		k.Serving.Offload = profiles.Offload{MemoryBytes: 5e7, BandwidthPerS: 1e9, LatencyPerBlock: time.Millisecond}
	case 4:
		k.Facts.Pipeline = 3
	}
}

// drawConfig is a random cluster under a random load, in which anything may
// happen.
func drawConfig(t *rapid.T) Config {
	c := Config{Seed: rapid.Uint64().Draw(t, "seed"), Drain: time.Minute}
	if rapid.Bool().Draw(t, "disaggregated") {
		c.Pools = []Pool{
			{Name: "prefill", Replicas: rapid.IntRange(1, 2).Draw(t, "prefill"), Kind: small(t, prefill)},
			{Name: "decode", Replicas: rapid.IntRange(1, 2).Draw(t, "decode"), Kind: small(t, decode)},
		}
		c.Cluster.Link = profiles.Link{BandwidthPerS: rapid.SampledFrom([]float64{0, 1e8, 1e10}).Draw(t, "link"), Latency: time.Millisecond}
	} else {
		for i := range rapid.IntRange(1, 2).Draw(t, "pools") {
			c.Pools = append(c.Pools, Pool{Name: fmt.Sprint(i), Replicas: rapid.IntRange(1, 2).Draw(t, "replicas"), Kind: small(t, "")})
		}
	}
	if rapid.Bool().Draw(t, "autoscaled") {
		c.Cluster.Autoscale = profiles.Autoscale{
			Metric: rapid.SampledFrom([]string{"queue_depth", "kv_usage", "utilization"}).Draw(t, "metric"),
			Target: rapid.SampledFrom([]float64{0.2, 0.7, 3}).Draw(t, "target"), Max: 4,
			Interval: 300 * time.Millisecond, StartDelay: rapid.SampledFrom([]time.Duration{0, 700 * time.Millisecond}).Draw(t, "delay"), ScaleDown: time.Second,
		}
	}
	drawFailures(t, &c)
	drawGateway(t, &c.Cluster)
	for i := range rapid.IntRange(1, 2).Draw(t, "streams") {
		stream, err := workload.New(drawWorkload(t), workload.Options{Seed: uint64(i) + 1})
		if err != nil {
			t.Fatalf("workload: %v", err)
		}
		c.Streams = append(c.Streams, stream)
	}
	c.Warmup = rapid.SampledFrom([]time.Duration{0, 500 * time.Millisecond}).Draw(t, "warm-up")
	if rapid.Bool().Draw(t, "by number") {
		c.Requests = rapid.IntRange(1, 80).Draw(t, "requests")
	} else {
		c.Duration = time.Duration(rapid.IntRange(1, 6).Draw(t, "seconds")) * time.Second
	}
	if rapid.IntRange(0, 4).Draw(t, "impatient") == 0 {
		c.Drain = 200 * time.Millisecond
	}
	return c
}

func drawFailures(t *rapid.T, c *Config) {
	replicas := 0
	for _, p := range c.Pools {
		replicas += p.Replicas
	}
	for range rapid.IntRange(0, 3).Draw(t, "failures") {
		f := profiles.Failure{
			Kind: rapid.SampledFrom([]string{"crash", "slow", "outage"}).Draw(t, "kind"),
			At:   time.Duration(rapid.IntRange(0, 3000).Draw(t, "at")) * time.Millisecond,
			For:  time.Duration(rapid.IntRange(0, 2000).Draw(t, "for")) * time.Millisecond,
		}
		switch f.Kind {
		case "slow":
			f.Factor, f.Replica = 3, rapid.IntRange(0, replicas-1).Draw(t, "which")
		case "crash":
			f.Replica = rapid.IntRange(0, replicas-1).Draw(t, "which")
		default:
			f.Target = rapid.SampledFrom([]string{"replicas", "fallback"}).Draw(t, "target")
		}
		c.Cluster.Failures = append(c.Cluster.Failures, f)
	}
}

func drawGateway(t *rapid.T, c *profiles.Cluster) {
	c.Router.Policy = rapid.SampledFrom([]string{"", "least_loaded", "round_robin", "prefix_affinity"}).Draw(t, "router")
	if !rapid.Bool().Draw(t, "gateway") {
		return
	}
	g := &c.Gateway
	g.InFlight = rapid.IntRange(0, 6).Draw(t, "in flight")
	g.MaxQueue = rapid.IntRange(0, 10).Draw(t, "queue")
	g.Timeout = rapid.SampledFrom([]time.Duration{0, 80 * time.Millisecond, time.Second}).Draw(t, "timeout")
	g.Retry = profiles.Retry{Attempts: rapid.IntRange(0, 3).Draw(t, "attempts"), Budget: rapid.SampledFrom([]float64{0, 0.2}).Draw(t, "budget"), Backoff: 20 * time.Millisecond}
	g.PropagateCancel = rapid.SampledFrom([]string{"", "on", "off"}).Draw(t, "propagate_cancel")
	if rapid.Bool().Draw(t, "limited") {
		g.Limits = profiles.Limits{RPM: 300, InputTPM: 20000, OutputTPM: 20000, Concurrent: 8}
	}
	if rapid.Bool().Draw(t, "fallback") {
		g.Fallback = profiles.Fallback{TTFT: 50 * time.Millisecond, TPOT: 2 * time.Millisecond, Concurrent: rapid.IntRange(0, 3).Draw(t, "fallback at once"), WhenSaturated: rapid.Bool().Draw(t, "saturated")}
	}
}

func drawWorkload(t *rapid.T) profiles.Workload {
	w := profiles.Workload{
		Name:    "drawn",
		Input:   profiles.Distribution{Kind: profiles.Uniform, Min: 2, Max: float64(rapid.IntRange(10, 120).Draw(t, "input"))},
		Output:  profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: float64(rapid.IntRange(2, 60).Draw(t, "output"))},
		Tenants: rapid.IntRange(0, 3).Draw(t, "tenants"),
		Classes: map[string]float64{"chat": 1, "batch": 1},
	}
	switch rapid.IntRange(0, 3).Draw(t, "arrivals") {
	case 0:
		w.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: rapid.IntRange(1, 12).Draw(t, "concurrency")}
	case 1:
		w.Arrival = profiles.Arrival{Process: profiles.Users, Count: rapid.IntRange(1, 12).Draw(t, "users")}
		w.Session.Think = profiles.Delay{Kind: profiles.Exponential, Mean: 200 * time.Millisecond}
	default:
		w.Arrival = profiles.Arrival{Process: profiles.Poisson, RatePerS: float64(rapid.IntRange(2, 60).Draw(t, "rate"))}
	}
	if rapid.Bool().Draw(t, "prefixes") {
		w.Prefix = profiles.Prefix{Groups: 3, Tokens: 24}
	}
	if rapid.Bool().Draw(t, "sessions") {
		w.Session.Turns = profiles.Distribution{Kind: profiles.Geometric, Mean: 3}
		w.Session.Think = profiles.Delay{Kind: profiles.Uniform, Max: 300 * time.Millisecond}
	}
	if rapid.Bool().Draw(t, "cancels") {
		w.Cancel = profiles.Cancel{Fraction: 0.3, After: profiles.Delay{Kind: profiles.Uniform, Min: time.Millisecond, Max: 400 * time.Millisecond}}
	}
	return w
}
