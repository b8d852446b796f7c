package handover

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

// scaled reads the object that a deployment is written as.
func scaled(t *testing.T, d Deployment) scaledObject {
	t.Helper()
	var got scaledObject
	strict(t, write(t, d, Autoscaler), &got)
	return got
}

// TestAutoscaler parses the YAML and compares its numbers with the plan's.
func TestAutoscaler(t *testing.T) {
	d := deployment(t, func(r *sizing.Request) { r.Scenario.SLO = []profiles.SLO{{TTFT: 800 * time.Millisecond}} })
	got, q := scaled(t, d), d.Plan.Scaling
	if got.APIVersion != "keda.sh/v1alpha1" || got.Kind != "ScaledObject" || got.Spec.Target.Name != "llama-3-1-8b" || got.Spec.Target.Kind != "" || len(got.Spec.Triggers) < 2 {
		t.Fatalf("%+v", got)
	}
	queue, running := got.Spec.Triggers[0].Metadata, got.Spec.Triggers[1].Metadata
	drains := d.Plan.Performance.MaxRPS * (0.8 - q.LoneTTFT)
	if v := mustNumber(t, queue.Threshold); math.Abs(v/drains-1) > 0.01 || v < q.Waiting {
		t.Errorf("waiting threshold %v, want what drains in time, %v", v, drains)
	}
	if v := mustNumber(t, running.Threshold); math.Abs(v/q.Running-1) > 0.01 {
		t.Errorf("running threshold %v, want %v", v, q.Running)
	}
	if want := 2 * d.Plan.Fleet.Replicas; got.Spec.Max != want || got.Spec.Min != 2 {
		t.Errorf("%d to %d replicas, want 2 to %d", got.Spec.Min, got.Spec.Max, want)
	}
	if queue.Query != `sum(avg_over_time(vllm:num_requests_waiting{model_name="meta-llama/Llama-3.1-8B-Instruct"}[1m]))` {
		t.Error(queue.Query)
	}
}

// reading is what each trigger's metric reads over a fleet of so many replicas
// under a load.
func reading(t *testing.T, change func(*sizing.Request), replicas int, rps float64) map[string]float64 {
	t.Helper()
	d := deployment(t, func(r *sizing.Request) {
		change(r)
		p := r.Scenario.Parallel
		r.Count, r.Spare = replicas*max(1, p.Tensor)*max(1, p.Pipeline)*max(1, p.Data), 0
		r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Poisson, RatePerS: rps}
		r.LoadProfile = profiles.LoadProfile{}
		r.TargetUtilization = 1 // read the fleet as it is
	})
	m, err := d.metrics()
	if err != nil {
		t.Fatal(err)
	}
	q, n, ranks := d.Plan.Scaling, float64(replicas), float64(d.Plan.Inputs.DataParallel)
	if math.Abs(q.RPS*n/rps-1) > 1e-9 {
		t.Fatalf("%d replicas at %v/s are read at %v/s each", replicas, rps, q.RPS)
	}
	return map[string]float64{m.waiting: n * q.Waiting, m.running: n * q.Running, m.kvUsage: n * ranks * q.KVUsage}
}

// asks is how many replicas the triggers ask for: ⌈n × metric ÷ threshold⌉, the
// most of them.
func asks(t *testing.T, object scaledObject, sums map[string]float64) int {
	t.Helper()
	most := 0
	for _, trigger := range object.Spec.Triggers {
		found := false
		for metric, sum := range sums {
			if strings.Contains(trigger.Metadata.Query, metric+"{") {
				most, found = max(most, int(math.Ceil(sum/mustNumber(t, trigger.Metadata.Threshold)))), true
			}
		}
		if !found {
			t.Fatalf("nothing reads %s", trigger.Metadata.Query)
		}
	}
	return most
}

// TestAutoscalerRestsAtThePlan: the planned fleet is what the triggers ask for at
// the planned load, and one in proportion is at half of it and twice.
func TestAutoscalerRestsAtThePlan(t *testing.T) {
	rps := func(v float64) profiles.Arrival { return profiles.Arrival{Process: profiles.Poisson, RatePerS: v} }
	for name, change := range map[string]func(*sizing.Request){
		"bound by TTFT": func(*sizing.Request) {},
		"bound by the cache": func(r *sizing.Request) {
			r.Scenario.SLO, r.KVCacheMemory = []profiles.SLO{{E2E: time.Minute}}, 6<<30
		},
		"SGLang":      func(r *sizing.Request) { r.Scenario.Engine = "sglang" },
		"70B":         func(r *sizing.Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "llama-3.1-70b", 4 },
		"spare":       func(r *sizing.Request) { r.Spare = 2 },
		"utilization": func(r *sizing.Request) { r.TargetUtilization = 0.6 },
		"data": func(r *sizing.Request) {
			r.Scenario.Model, r.Scenario.Parallel = "qwen3-30b-a3b", profiles.Parallel{Tensor: 1, Data: 4, Expert: 4}
		},
		"pipeline": func(r *sizing.Request) { r.Scenario.Parallel = profiles.Parallel{Tensor: 2, Pipeline: 2} },
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(t, change)
			object, n := scaled(t, d), d.Plan.Fleet.Replicas
			for _, tc := range []struct {
				replicas  int
				load      float64
				low, high int
			}{
				{n, 200, n - 1, n},
				{n, 100, n / 3, n/2 + 1},
				{(n + 1) / 2, 100, n/2 - 1, n/2 + 1},
				{2 * n, 400, 2*n - 2, 2 * n},
			} {
				got := asks(t, object, reading(t, change, tc.replicas, tc.load))
				if got < tc.low || got > tc.high {
					t.Errorf("%d replicas at %v/s: asks for %d, want %d to %d", tc.replicas, tc.load, got, tc.low, tc.high)
				}
			}
			if got := asks(t, object, reading(t, change, n, 240)); got <= n && d.Plan.Fleet.Spare == 0 {
				t.Errorf("at 1.2 times the load it asks for %d of %d", got, n)
			}
		})
	}
	one := deployment(t, func(r *sizing.Request) { r.Scenario.Workload.Arrival = rps(1) })
	if object := scaled(t, one); object.Spec.Min != 1 || object.Spec.Max != 2 {
		t.Errorf("one replica scales from %d to %d", object.Spec.Min, object.Spec.Max)
	}
}

// TestTriggersThatTell: KV usage is a trigger where it says something.
func TestTriggersThatTell(t *testing.T) {
	for name, tc := range map[string]struct {
		change   func(*sizing.Request)
		triggers int
		says     string
	}{
		"TTFT":  {func(*sizing.Request) {}, 2, "kv_cache_usage_perc is no trigger"},
		"cache": {func(r *sizing.Request) { r.KVCacheMemory = 6 << 30 }, 3, "share of blocks in use"},
		"no TTFT objective": {func(r *sizing.Request) { r.Scenario.SLO = []profiles.SLO{{E2E: time.Minute}} }, 2,
			"there is no TTFT objective"},
		"two nodes": {func(r *sizing.Request) {
			r.Scenario.Model, r.Scenario.Parallel = "deepseek-v3", profiles.Parallel{Tensor: 8, Pipeline: 2}
		}, 2, "kind: LeaderWorkerSet"},
		"at hand": {func(r *sizing.Request) { r.Count = 40 }, 2, "maxReplicaCount: 40"},
		"a night": {func(r *sizing.Request) {
			p, err := profiles.LoadLoadProfile("office")
			if err != nil {
				t.Fatal(err)
			}
			r.LoadProfile, r.Scenario.Workload.Arrival.RatePerS = p, 2000
		}, 2, "of the load profile needs, the quietest"},
	} {
		t.Run(name, func(t *testing.T) {
			d := deployment(t, tc.change)
			text, object := write(t, d, Autoscaler), scaled(t, d)
			if len(object.Spec.Triggers) != tc.triggers || !strings.Contains(strings.Join(strings.Fields(strings.ReplaceAll(text, "\n# ", "")), " "), tc.says) {
				t.Errorf("%d triggers, want %d and %q:\n%s", len(object.Spec.Triggers), tc.triggers, tc.says, text)
			}
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, "#") && utf8.RuneCountInString(line) > width+1 {
					t.Errorf("line of %d columns: %s", utf8.RuneCountInString(line), line)
				}
			}
			if day := d.Plan.Day; day != nil {
				quiet := d.Plan.Fleet.Replicas
				for _, h := range day.Hours {
					quiet = min(quiet, h.Replicas)
				}
				if object.Spec.Min != quiet || quiet < 3 {
					t.Errorf("at least %d replicas, the quietest hour needs %d", object.Spec.Min, quiet)
				}
			}
		})
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.068469: "0.0685", 23.797: "23.8", 1234.5: "1230", 2: "2", 0.8: "0.8"} {
		if got := number(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
