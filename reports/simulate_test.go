package reports

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/reports/record"
)

// simulated is a run of two replicas over 100 s after 20 s of warm-up; level gives
// what runs and what waits in both together at a time.
func simulated(level func(at float64) (running, waiting float64)) record.Run {
	run := record.Run{
		Kind: Simulate, Asked: "chat, poisson 10/s",
		Target: record.Target{Model: "llama-3.1-8b", Cluster: []record.Pool{{Replicas: 2, Accelerators: 1, Accelerator: "h100-sxm-80gb", Engine: "vllm@0.19",
			Steps: &record.StepTimes{Source: "fit of published measurements with vllm on hopper", Error: 0.087}}}},
		Window: record.Window{Start: 20 * time.Second, End: 120 * time.Second},
		SLO:    []record.SLO{{TTFT: 500 * ms, TPOT: 50 * ms, Attainment: 0.99}}, AskedRPS: 10, SharedPrefix: true,
		Client: record.Client{CPUFraction: -1},
		Spent: []record.Spent{
			{Page: "replica 0", Alive: 100 * time.Second, Busy: 90 * time.Second, Memory: 60 * time.Second, Compute: 20 * time.Second, Fixed: 10 * time.Second, HeldBlocks: 12 * time.Second, HeldSlots: 2 * time.Second, Steps: 4000, Tokens: 240_000},
			{Page: "replica 1", Alive: 100 * time.Second, Busy: 80 * time.Second, Memory: 55 * time.Second, Compute: 15 * time.Second, Fixed: 10 * time.Second, HeldBlocks: 10 * time.Second, Steps: 4000, Tokens: 240_000},
		},
	}
	for at := 0; at <= 120; at++ {
		running, waiting := level(float64(at))
		for i, page := range []string{"replica 0", "replica 1"} {
			v := record.UnknownSample()
			v.At, v.Page = time.Duration(at)*time.Second, page
			v.Running, v.Waiting, v.KVUsage = running/2, waiting/2, min(1, (running+waiting)/100)
			v.Steps, v.StepTokens = float64(40*at), float64(40*at)*(running/2+float64(i))
			v.PrefixQueries, v.PrefixHits, v.Preemptions = float64(1000*at), float64(300*at), float64(max(0, at-100))
			run.Server = append(run.Server, v)
		}
	}
	return run
}

// flow yields a request each tenth of a second that lasts as long as the level of
// all in flight asks for (Little's law).
func flow(level func(at float64) (running, waiting float64), outcome func(i int) record.Outcome) (all []*record.Record) {
	for i := range 1200 {
		at := time.Duration(i) * 100 * ms
		running, waiting := level(at.Seconds())
		wait, run := time.Duration(waiting/10*1e9), time.Duration(running/10*1e9)
		r := request(at, 50*ms+wait, max(ms, run/20), 21)
		r.TokensSource, r.Outcome = record.FromUsage, outcome(i)
		if r.Outcome == record.Failed {
			r.Failure = record.HTTPFailure(400)
		}
		all = append(all, r)
	}
	return all
}

func steadyLevel(float64) (float64, float64) { return 40, 0 }

func fine(int) record.Outcome { return record.OK }

func TestSimulationWarns(t *testing.T) {
	for _, tc := range []struct {
		name    string
		level   func(at float64) (running, waiting float64)
		outcome func(i int) record.Outcome
		change  func(*record.Run)
		want    []string
	}{
		{"all is well", steadyLevel, fine, nil, nil},
		{"a backlog grows", func(at float64) (float64, float64) { return 40, 2 * at }, fine, nil, []string{"saturated"}},
		{"a ramp may", func(at float64) (float64, float64) { return 40, 2 * at }, fine, func(r *record.Run) { r.AskedRPS = 0 }, nil},
		{"a backlog that stays", func(float64) (float64, float64) { return 40, 100 }, fine, nil, nil},
		{"still filling up", func(at float64) (float64, float64) { return min(60, at), 0 }, fine, nil, []string{"warmup_short"}},
		{"many are cut", steadyLevel, func(i int) record.Outcome {
			if i%20 == 0 {
				return record.Cut
			}
			return record.OK
		}, nil, []string{"much_cut"}},
		{"too long to serve", steadyLevel, func(i int) record.Outcome {
			if i%500 == 250 {
				return record.Failed
			}
			return record.OK
		}, nil, []string{"refused"}},
		{"few requests", steadyLevel, fine, func(r *record.Run) { r.Window.End = 50 * time.Second }, []string{"thin_tail"}},
		{"requests longer than the window", func(float64) (float64, float64) { return 900, 0 }, fine, func(r *record.Run) { r.Window.End = 80 * time.Second }, []string{"window_short"}},
		{"none of a bench", func(at float64) (float64, float64) { return 40, 2 * at }, fine, func(r *record.Run) { r.Kind = "bench" }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			run := simulated(tc.level)
			if tc.change != nil {
				tc.change(&run)
			}
			r := Summarize(run, slices.Values(flow(tc.level, tc.outcome)))
			var got []string
			for _, w := range r.Warnings {
				if w.Code != "coalesced" {
					got = append(got, w.Code)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("warnings (-want +got):\n%s%v", diff, r.Warnings)
			}
		})
	}
}

func TestSimulationText(t *testing.T) {
	level := func(at float64) (float64, float64) { return 40, max(0, at-60) }
	r := Summarize(simulated(level), slices.Values(flow(level, fine)))
	golden(t, "simulate.txt", text(t, r, TextOptions{}))
	if r.Lag == nil || r.Lag.Max != 0 || r.Client.Limited || r.Client.Reasons == nil || r.Client.GCPauseP99S != nil {
		t.Errorf("a simulation's client is never late and nothing else, got lag %+v, %+v", r.Lag, r.Client)
	}
}

func TestBottlenecks(t *testing.T) {
	r := Summarize(simulated(steadyLevel), slices.Values(flow(steadyLevel, fine)))
	sum, before := 0.0, Bottleneck{Of: ofTime, Share: 1}
	for _, b := range r.Bottleneck {
		if b.Of == ofTime {
			sum += b.Share
		}
		if b.Of == before.Of && b.Share > before.Share {
			t.Errorf("%+v comes after %+v", b, before)
		}
		before = b
	}
	if math.Abs(sum-1) > 1e-6 {
		t.Errorf("the shares of time make %v", sum)
	}
	if first := r.Bottleneck[0]; first.Resource != onMemory || first.Share != 0.575 {
		t.Errorf("first is %+v", first)
	}
	for _, tc := range []struct {
		name string
		all  []Bottleneck
		want string
	}{
		{"blocks", []Bottleneck{{onMemory, ofTime, 1, ""}, {forBlocks, ofWaiting, 0.2, ""}, {forSlots, ofWaiting, 0.1, ""}}, "--kv-dtype"},
		{"slots, and room to batch", []Bottleneck{{onMemory, ofTime, 0.9, ""}, {forSlots, ofWaiting, 0.5, ""}}, "--max-num-seqs"},
		{"slots, and no room", []Bottleneck{{onCompute, ofTime, 0.9, ""}, {forSlots, ofWaiting, 0.5, ""}}, "bound by compute"},
		{"budget", []Bottleneck{{onMemory, ofTime, 0.9, ""}, {forBudget, ofWaiting, 0.5, ""}}, "or a larger --max-num-batched-tokens"},
		{"budget, bound by compute", []Bottleneck{{onCompute, ofTime, 0.9, ""}, {forBudget, ofWaiting, 0.5, ""}}, "more replicas: steps are bound by compute"},
		{"idle", []Bottleneck{{onNothing, ofTime, 0.9, ""}, {forSlots, ofWaiting, 0.001, ""}}, "fewer replicas"},
		{"links", []Bottleneck{{onCollectives, ofTime, 0.5, ""}, {onMemory, ofTime, 0.3, ""}}, "--tp"},
	} {
		if got := remedy(tc.all); !strings.Contains(got, tc.want) {
			t.Errorf("%s: try %q, want something with %s", tc.name, got, tc.want)
		}
	}
}

func TestSeries(t *testing.T) {
	level := func(at float64) (float64, float64) { return 40, at }
	run := simulated(level)
	s := seriesSection(run.Server)
	if s.IntervalS != 1 || len(s.TS) != 120 || s.TS[119] != 119 || len(s.PerReplica) != 2 {
		t.Fatalf("%v s, %d points, %d replicas", s.IntervalS, len(s.TS), len(s.PerReplica))
	}
	if q := *s.Queue[60]; q != 60 {
		t.Errorf("queue at 60 s is %v", q)
	}
	if p := *s.Preemptions[110]; p != 2 {
		t.Errorf("preemptions of both replicas in a second: %v", p)
	}
	if b := *s.BatchTokens[60]; math.Abs(b-20.5) > 1e-9 {
		t.Errorf("tokens of a step: %v, want 20.5", b)
	}
	if h := *s.HitRate[60]; h != 0.3 {
		t.Errorf("hit rate %v", h)
	}
	if n := *s.Replicas[3]; n != 2 {
		t.Errorf("%v replicas", n)
	}
	// A replica that is gone says nothing, and a run of any length has few points.
	var long []record.ServerSample
	for i := range 3000 {
		for page, name := range []string{"a", "b"} {
			v := record.UnknownSample()
			v.At, v.Page = time.Duration(i)*time.Second, name
			if page == 0 || i < 1500 {
				v.Running = 10
			}
			long = append(long, v)
		}
	}
	s = seriesSection(long)
	if len(s.TS) > seriesPoints || s.IntervalS != 8 {
		t.Errorf("%d points of %v s", len(s.TS), s.IntervalS)
	}
	last := len(s.TS) - 1
	if *s.Running[0] != 20 || *s.Running[last] != 10 || *s.Replicas[last] != 1 || s.Queue != nil {
		t.Errorf("running %v then %v, replicas %v, queue %v", *s.Running[0], *s.Running[last], *s.Replicas[last], s.Queue)
	}
	if got := s.PerReplica[1].Running[len(s.PerReplica[1].Running)-1]; got != nil {
		t.Errorf("a replica that is gone runs %v", *got)
	}
	if seriesSection(long[:2]) != nil {
		t.Error("two samples make a series")
	}
}

func TestGatewayIsTold(t *testing.T) {
	even := func(float64) (running, waiting float64) { return 20, 0 }
	text := func(g *record.Gateway) string {
		run := simulated(even)
		run.Gateway = g
		r := Summarize(run, slices.Values(flow(even, func(int) record.Outcome { return record.OK })))
		if r.Gateway != g {
			t.Errorf("the report has %+v, want %+v", r.Gateway, g)
		}
		var b strings.Builder
		if err := WriteText(&b, r, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(b.String()), " ")
	}
	for want, g := range map[string]*record.Gateway{
		"gateway 1,200 above a tenant's limits, 3 shed for a full queue, 2 timed out, 4 retried, 5 left alone by the retry budget, 7 by the fallback for $1.25": {
			Limited: 1200, Shed: 3, TimedOut: 2, Retried: 4, Unretried: 5, Fallback: &record.Provided{Requests: 7, InputTokens: 1, OutputTokens: 2, USD: 1.25}},
		"gateway turned nobody away, and tried nothing twice": {Fallback: &record.Provided{}},
	} {
		if got := text(g); !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got := text(nil); strings.Contains(got, "gateway") {
		t.Errorf("there is no gateway in\n%s", got)
	}
}

// TestWaitingForAStart: what starts is a reason of its own, by the larger of the two
// shares, and has a remedy of its own.
func TestWaitingForAStart(t *testing.T) {
	r := &Report{Window: Window{EndS: 100}}
	spent := []record.Spent{{Alive: 100 * time.Second, HeldStart: 30 * time.Second, HeldSlots: 5 * time.Second}, {Alive: 50 * time.Second}}
	find := func(all []Bottleneck) (b Bottleneck) {
		if i := slices.IndexFunc(all, func(b Bottleneck) bool { return b.Resource == forStart }); i >= 0 {
			return all[i]
		}
		return Bottleneck{}
	}
	if b := find(bottlenecks(spent, r)); b.Share != 0.2 || b.Of != ofWaiting || !strings.Contains(b.Evidence, "in engines") {
		t.Errorf("%+v, want 30 of 150 s", b)
	}
	for i := range spent {
		spent[i].HeldGatewayStart = 40 * time.Second
	}
	all := bottlenecks(spent, r)
	if b := find(all); b.Share != 0.4 || !strings.Contains(b.Evidence, "gateway") {
		t.Errorf("%+v, want 40 of 100 s", b)
	}
	if advice := remedy(all); !strings.Contains(advice, "start_delay") {
		t.Errorf("the advice is %q", advice)
	}
	none := []record.Spent{{HeldGatewayStart: 40 * time.Second}} // no replica ever served
	if b := find(bottlenecks(none, r)); b.Share != 0.4 {
		t.Errorf("%+v, want 40 of 100 s", b)
	}
}
