package simulator

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

// steady is a kind of which every step takes 10 ms, whatever is in it.
func steady(role string) Kind {
	return Kind{
		Role:      role,
		Facts:     cost.Facts{KV: []cost.KVKind{{BytesPerToken: 1e5}}},
		Device:    &profiles.Accelerator{BandwidthBytesPerS: 1e12, BF16FlopsPerS: 1e15},
		Constants: cost.Constants{StepS: 0.01, RequestS: 0.002},
		Sched:     sched.Config{MaxNumSeqs: 64, MaxNumBatchedTokens: 4096, MaxModelLen: 4096, ReserveFullPrompt: true},
		Blocks:    1024, BlockSize: 16, Accelerators: 1, USDPerHour: 3600,
	}
}

// stream is a workload of equal requests.
func stream(t testing.TB, a profiles.Arrival, input, output float64, change ...func(*profiles.Workload)) *workload.Stream {
	t.Helper()
	w := profiles.Workload{
		Arrival: a,
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: input},
		Output:  profiles.Distribution{Kind: profiles.Fixed, Mean: output},
	}
	for _, f := range change {
		f(&w)
	}
	s, err := workload.New(w, workload.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run simulates and returns the records in the order of their ids.
func run(t testing.TB, c Config) ([]record.Record, Result) {
	t.Helper()
	if c.Drain == 0 {
		c.Drain = time.Minute
	}
	var all []record.Record
	result, err := Run(t.Context(), c, func(record.Window) {}, func(r *record.Record) {
		kept := *r
		kept.Chunks = nil // not valid for long
		all = append(all, kept)
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(all, func(a, b record.Record) int { return int(a.ID - b.ID) })
	return all, result
}

func at(m record.Moment) time.Duration {
	if d, ok := m.Since(); ok {
		return d
	}
	return -1
}

func constant(perS float64) profiles.Arrival {
	return profiles.Arrival{Process: profiles.Constant, RatePerS: perS}
}

// TestMoreReplicas: with more replicas, not fewer requests are good, whatever
// routes them: over 20 seeds, beyond the 95 % interval of the mean difference.
func TestMoreReplicas(t *testing.T) {
	const seeds, student = 20, 2.093 // the two-sided 95 % quantile with 19 degrees of freedom
	for _, policy := range []string{"least_loaded", "round_robin", "prefix_affinity"} {
		t.Run(policy, func(t *testing.T) {
			var before [seeds]float64
			for replicas := 1; replicas <= 5; replicas++ {
				var sum, squares float64
				for seed := range seeds {
					good := goodput(t, policy, replicas, uint64(seed))
					d := good - before[seed]
					sum, squares, before[seed] = sum+d, squares+d*d, good
				}
				mean := sum / seeds
				half := student * math.Sqrt(max(0, squares/seeds-mean*mean)/(seeds-1))
				if mean+half < 0 {
					t.Errorf("%d replicas have a goodput of %g ± %g/s less than one replica fewer", replicas, -mean, half)
				}
			}
			if before[0] == 0 {
				t.Error("nothing was good")
			}
		})
	}
}

// goodput is good requests per second of a cluster of which one replica is far too
// little for the load, and five are enough.
func goodput(t *testing.T, policy string, replicas int, seed uint64) float64 {
	k := steady("")
	k.Sched.MaxNumSeqs, k.Blocks = 8, 128
	s, err := workload.New(profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 60},
		Input:   profiles.Distribution{Kind: profiles.Uniform, Min: 16, Max: 200},
		Output:  profiles.Distribution{Kind: profiles.Uniform, Min: 5, Max: 45},
		Prefix:  profiles.Prefix{Groups: 6, Tokens: 64, Popularity: 1},
	}, workload.Options{Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	records, result := run(t, Config{
		Pools: []Pool{{Replicas: replicas, Kind: k}}, Streams: []*workload.Stream{s}, Seed: seed,
		Cluster: profiles.Cluster{Router: profiles.Router{Policy: policy}}, Duration: 10 * time.Second,
	})
	good := 0
	for i := range records {
		if ttft, ok := records[i].TTFT(); ok && records[i].Outcome == record.OK && ttft < 200*ms {
			good++
		}
	}
	return float64(good) / (result.Window.End - result.Window.Start).Seconds()
}

// TestProcessors: the number of processors makes no difference.
func TestProcessors(t *testing.T) {
	simulate := func(n int) string {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(n))
		records, result := run(t, Config{
			Pools:   []Pool{{Replicas: 3, Kind: steady("")}},
			Streams: []*workload.Stream{stream(t, profiles.Arrival{Process: profiles.Poisson, RatePerS: 50}, 100, 20), stream(t, profiles.Arrival{Process: profiles.Closed, Concurrency: 5}, 30, 10)},
			Cluster: profiles.Cluster{Failures: []profiles.Failure{{Kind: "crash", Replica: 1, At: time.Second, For: time.Second}}},
			Seed:    3, Duration: 5 * time.Second,
		})
		return fmt.Sprint(records, result)
	}
	if one, two := simulate(1), simulate(2); one != two {
		t.Error("one processor and two give different results")
	}
}

// TestTooLong: a request that its replica can never take fails as the engine fails
// it, and is counted.
func TestTooLong(t *testing.T) {
	records, _ := run(t, Config{
		Pools: []Pool{{Replicas: 1, Kind: steady("")}},
		Streams: []*workload.Stream{stream(t, constant(10), 100, 5), stream(t, constant(1), 5000, 5),
			stream(t, profiles.Arrival{Process: profiles.Closed, Concurrency: 1}, 5000, 5)},
		Duration: time.Second,
	})
	ok, refused := 0, 0
	for _, r := range records {
		input, _ := r.AskedInput.Value()
		switch {
		case input == 100 && r.Outcome == record.OK:
			ok++
		case input == 5000 && r.Outcome == record.Failed && r.Failure == record.HTTPFailure(400) && !r.Output.Known() && r.HTTPStatus == 400:
			refused++
		default:
			t.Errorf("a request of %d tokens ended as %s %s", input, r.Outcome, r.Failure)
		}
	}
	if ok < 5 || refused < 50 {
		t.Errorf("%d requests were answered, %d refused", ok, refused)
	}
}

// TestUnfit: what can not be simulated is refused with a reason.
func TestUnfit(t *testing.T) {
	fit := func() Config {
		return Config{Pools: []Pool{{Name: "a", Replicas: 2, Kind: steady("")}}, Streams: []*workload.Stream{stream(t, constant(1), 1, 1)}, Duration: time.Second}
	}
	for _, test := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"nothing sent", func(c *Config) { c.Streams = nil }, "nothing is sent: expected a workload"},
		{"no end", func(c *Config) { c.Duration = 0 }, "the run has no end: expected a duration or a number of requests"},
		{"no replica", func(c *Config) { c.Pools[0].Replicas = 0 }, "the cluster has no replica"},
		{"no blocks", func(c *Config) { c.Pools[0].Kind.Blocks = 0 }, "pool a: a KV cache of 0 blocks of 16 tokens holds nothing"},
		{"no sequences", func(c *Config) { c.Pools[0].Kind.Sched.MaxNumSeqs = 0 }, "pool a: max_num_seqs 0: at least 1 request must run"},
		{"crash of nobody", func(c *Config) { c.Cluster.Failures = []profiles.Failure{{Kind: "crash", Replica: 2}} }, "failure 1: replica 2, expected one from 0 to 1"},
		{"slow by nothing", func(c *Config) { c.Cluster.Failures = []profiles.Failure{{Kind: "slow"}} }, "failure 1: factor 0 on the time of steps, expected more than 0"},
		{"unknown failure", func(c *Config) { c.Cluster.Failures = []profiles.Failure{{Kind: "fire"}} }, `failure 1: kind "fire", expected crash, slow or outage`},
		{"failure before the start", func(c *Config) { c.Cluster.Failures = []profiles.Failure{{Kind: "crash", At: -1}} }, "failure 1: at -1ns for 0s, expected no time below 0"},
		{"unknown metric", func(c *Config) { c.Cluster.Autoscale = profiles.Autoscale{Metric: "mood"} }, `autoscale: metric "mood", expected queue_depth, kv_usage or utilization`},
		{"no target", func(c *Config) { c.Cluster.Autoscale = profiles.Autoscale{Metric: "kv_usage", Max: 3} }, "autoscale: target 0, expected more than 0"},
		{"no maximum", func(c *Config) { c.Cluster.Autoscale = profiles.Autoscale{Metric: "kv_usage", Target: 1} }, "autoscale: 0 to 0 replicas, expected 1 or more and min not above max"},
		{"decode alone", func(c *Config) { c.Pools[0].Kind.Role = "decode" }, "requests have nowhere to come in: every pool has the role decode"},
		{"prefill alone", func(c *Config) { c.Pools[0].Kind.Role = "prefill" }, "a pool with the role prefill needs one with the role decode"},
		{"unknown role", func(c *Config) { c.Pools[0].Kind.Role = "cook" }, `pool a: role "cook", expected serve, prefill or decode`},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := fit()
			test.change(&c)
			_, err := Run(t.Context(), c, func(record.Window) {}, func(*record.Record) {})
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}
