package study

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing"
)

// scenario is a model under a load that a replica carries.
func scenario(change func(*profiles.Scenario)) Request {
	sc := profiles.Scenario{
		Model: "llama-3.1-8b",
		Workload: profiles.Workload{
			Name:    "custom",
			Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 4},
			Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: 512},
			Output:  profiles.Distribution{Kind: profiles.Fixed, Mean: 32},
		},
	}
	if change != nil {
		change(&sc)
	}
	r := Request{Length: Length{Duration: 20 * time.Second, Drain: time.Minute}}
	r.Sizing = sizing.Request{Scenario: sc}
	return r
}

// TestPools: each pool is of its own kind, and what it does not say is as in the
// scenario.
func TestPools(t *testing.T) {
	s, err := New(scenario(func(sc *profiles.Scenario) {
		sc.Serving.Policy = "priority"
		sc.Cluster.Pools = []profiles.Pool{
			{Name: "large", Replicas: 2, Parallel: profiles.Parallel{Tensor: 2}, Serving: profiles.Serving{MaxNumSeqs: 7, Policy: "fcfs"}},
			{Replicas: 3, Accelerator: "a100-sxm-80gb", Slowdown: 1.5, Serving: profiles.Serving{MaxModelLen: 9000, LongPrefillTokenThreshold: 100}},
			{},
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(s.pools); n != 3 {
		t.Fatalf("%d pools, want 3", n)
	}
	large, other, plain := s.pools[0], s.pools[1], s.pools[2]
	switch {
	case large.Name != "large" || large.Replicas != 2 || large.Kind.Accelerators != 2 || large.Kind.Facts.Tensor != 2:
		t.Errorf("large is %+v", large)
	case large.Kind.Sched.MaxNumSeqs != 7 || large.Kind.Sched.Policy != sched.FCFS:
		t.Errorf("large is scheduled by %+v", large.Kind.Sched)
	case other.Name != "pool 2" || other.Replicas != 3 || other.Kind.Device.Name != "a100-sxm-80gb" || other.Kind.Slowdown != 1.5:
		t.Errorf("the second pool is %+v", other)
	case other.Kind.Sched.MaxModelLen != 9000 || other.Kind.Sched.Policy != sched.Priority || other.Kind.Sched.LongPrefillTokenThreshold != 100:
		t.Errorf("the second pool is scheduled by %+v", other.Kind.Sched)
	case plain.Replicas != 1 || plain.Kind.Device.Name != sizing.DefaultAccelerator || plain.Kind.Accelerators != 1:
		t.Errorf("the third pool is %+v", plain)
	case other.Kind.USDPerHour == plain.Kind.USDPerHour || 2*plain.Kind.USDPerHour != large.Kind.USDPerHour:
		t.Errorf("prices are %g, %g and %g", large.Kind.USDPerHour, other.Kind.USDPerHour, plain.Kind.USDPerHour)
	}
	report, err := s.Run(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if report.Requests.OK == 0 || report.Requests.Failed > 0 {
		t.Errorf("requests: %+v", report.Requests)
	}
}

// TestOwnPrice: a price that was given is that of the scenario's accelerator, not of
// the pools of others.
func TestOwnPrice(t *testing.T) {
	s, err := New(scenario(func(sc *profiles.Scenario) {
		sc.Price.USDPerAcceleratorHour = 1
		sc.Accelerator = "h100-sxm-80gb"
		sc.Cluster.Pools = []profiles.Pool{{Accelerator: "h100-sxm-80gb"}, {Accelerator: "a100-sxm-80gb"}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if own, other := s.pools[0].Kind.USDPerHour, s.pools[1].Kind.USDPerHour; own != 1 || other == 1 || other == 0 {
		t.Errorf("$%g and $%g per hour", own, other)
	}
}

// TestLink: caches go over the slower of the pools' networks, unless the link is
// given.
func TestLink(t *testing.T) {
	for _, test := range []struct {
		name        string
		accelerator string // of the decode pool
		given       float64
		want        float64
	}{
		{"the adapter", "h100-sxm-80gb", 0, 50e9},
		{"a slower link of the accelerator", "l4-24gb", 0, 32e9},
		{"given", "h100-sxm-80gb", 1e9, 1e9},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := New(scenario(func(sc *profiles.Scenario) {
				sc.Cluster.Link.BandwidthPerS = test.given
				sc.Cluster.Pools = []profiles.Pool{{Role: "prefill"}, {Role: "decode", Accelerator: test.accelerator, Serving: profiles.Serving{MaxModelLen: 4096}}}
			}))
			if err != nil {
				t.Fatal(err)
			}
			if got := s.request.Sizing.Scenario.Cluster.Link.BandwidthPerS; got != test.want {
				t.Errorf("%g bytes/s, want %g", got, test.want)
			}
		})
	}
}

// TestCannotServe: what can not run is refused beforehand, with the reason and the
// name of the pool.
func TestCannotServe(t *testing.T) {
	long := profiles.Workload{
		Name: "novels", Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 1},
		Input: profiles.Distribution{Kind: profiles.Fixed, Mean: 20000}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 1},
	}
	for _, test := range []struct {
		name   string
		change func(*Request)
		want   string
	}{
		{"the weights do not fit", func(r *Request) {
			r.Sizing.Scenario.Model = "llama-3.1-70b"
		}, "the weights take"},
		{"those of one pool do not", func(r *Request) {
			r.Sizing.Scenario.Model = "llama-3.1-70b"
			r.Sizing.Scenario.Cluster.Pools = []profiles.Pool{{Name: "four", Parallel: profiles.Parallel{Tensor: 4}}, {Name: "one"}}
		}, "pool one: the weights take"},
		{"another workload is too long", func(r *Request) {
			r.Sizing.MaxModelLen = 8192
			r.Sizing.Scenario.Also = []profiles.Workload{long}
		}, "100% of the prompts of workload novels leave no room for an answer in the 8,192 tokens that a replica takes of one request"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := scenario(nil)
			test.change(&r)
			_, err := New(r)
			if cannot, ok := errors.AsType[*CannotServe](err); !ok || !strings.HasPrefix(cannot.Error(), test.want) {
				t.Errorf("got %v, want a refusal that begins with %s", err, test.want)
			}
		})
	}
}

// TestSomeTooLong: as long as most requests can run, those that can not fail and
// are counted.
func TestSomeTooLong(t *testing.T) {
	r := scenario(func(sc *profiles.Scenario) {
		sc.Workload.Input = profiles.Distribution{Kind: profiles.Uniform, Min: 1000, Max: 9000}
	})
	r.Sizing.MaxModelLen = 8192
	s, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	report, err := s.Run(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if q := report.Requests; q.Failures[record.HTTPFailure(400)] == 0 || q.Failures[record.HTTPFailure(400)] != q.Failed || q.OK < q.Failed {
		t.Errorf("requests: %+v", q)
	}
}

// TestBadPool: bad input names the pool.
func TestBadPool(t *testing.T) {
	_, err := New(scenario(func(sc *profiles.Scenario) {
		sc.Cluster.Pools = []profiles.Pool{{Name: "fast", Accelerator: "h1000"}}
	}))
	if err == nil || !strings.HasPrefix(err.Error(), "pool fast: unknown accelerator") {
		t.Errorf("got %v", err)
	}
	if _, refused := errors.AsType[*CannotServe](err); refused {
		t.Error("a typing error is no refusal")
	}
}

// TestScaledStart: an autoscaler without a number of replicas begins with its least.
func TestScaledStart(t *testing.T) {
	for _, pools := range [][]profiles.Pool{nil, {{Name: "a"}}} {
		s, err := New(scenario(func(sc *profiles.Scenario) {
			sc.Cluster.Autoscale = profiles.Autoscale{Metric: "queue_depth", Target: 2, Min: 3, Max: 5}
			sc.Cluster.Pools = pools
		}))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.pools[0].Replicas; got != 3 {
			t.Errorf("begins with %d replicas, want 3", got)
		}
	}
}

// TestNoChunks: without chunked prefill, a step takes the longest prompt whole,
// unless somebody says how much it takes.
func TestNoChunks(t *testing.T) {
	r := scenario(func(sc *profiles.Scenario) { sc.Serving.ChunkedPrefill = "off" })
	r.Sizing.MaxModelLen = 50000
	s, err := New(r)
	if err != nil {
		t.Fatal(err)
	}
	if k := s.pools[0].Kind.Sched; !k.DisableChunkedPrefill || k.MaxNumBatchedTokens != 50000 {
		t.Errorf("scheduled by %+v", k)
	}
}

// TestCheckRefusesWhatNoReplicaDoes: what a kind of replica can not do is told before
// anything runs.
func TestCheckRefusesWhatNoReplicaDoes(t *testing.T) {
	s, err := New(scenario(func(sc *profiles.Scenario) {
		sc.Serving.Batching = "static"
		sc.Cluster.Pools = []profiles.Pool{{Role: "prefill"}, {Role: "decode"}}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err == nil || !strings.Contains(err.Error(), "batching static in a prefill pool") {
		t.Errorf("got %v, want static batching to be refused", err)
	}
}
