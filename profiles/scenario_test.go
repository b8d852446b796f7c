package profiles

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

const fullScenario = `
model: llama-3.1-8b
accelerator: h100-sxm-80gb
engine: vllm@0.19
parallel: { tensor: 2, pipeline: 1 }
workload:
  arrival: { process: poisson, rate: 200/s }
  input:   { lognormal: { mean: 1500, p99: 8000 } }
  output:  { lognormal: { mean: 256, p99: 1k } }
  prefix:  { groups: 8, tokens: 750, popularity: zipf(1.1) }
  session: { turns: { geometric: { mean: 3 } }, think: { exponential: { mean: 8s } } }
  cancel:  { fraction: 0.02, after: 2s }
  classes: { interactive: 0.9, batch: 0.1 }
  tenants: 20
slo: { ttft: 500ms, tpot: 50ms, attainment: 0.99 }
price: { usd_per_accelerator_hour: 2.50 }
experiment: shared-prefix
`

func parsed(t *testing.T) *Scenario {
	t.Helper()
	s, err := ParseScenario([]byte(fullScenario))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestParseScenario(t *testing.T) {
	want := &Scenario{
		Model: "llama-3.1-8b", Accelerator: "h100-sxm-80gb", Engine: "vllm@0.19",
		Parallel: Parallel{Tensor: 2, Pipeline: 1},
		Workload: Workload{
			Name: "custom", Arrival: Arrival{Process: Poisson, RatePerS: 200},
			Input: Distribution{Kind: Lognormal, Mean: 1500, P99: 8000}, Output: Distribution{Kind: Lognormal, Mean: 256, P99: 1000},
			Prefix:  Prefix{Groups: 8, Tokens: 750, Popularity: 1.1},
			Session: Session{Turns: Distribution{Kind: Geometric, Mean: 3}, Think: Delay{Kind: Exponential, Mean: 8 * time.Second}},
			Cancel:  Cancel{Fraction: 0.02, After: Delay{Kind: Fixed, Mean: 2 * time.Second}},
			Tenants: 20, Classes: map[string]float64{"interactive": 0.9, "batch": 0.1},
		},
		SLO:        []SLO{{TTFT: 500 * time.Millisecond, TPOT: 50 * time.Millisecond, Attainment: 0.99}},
		Price:      Price{USDPerAcceleratorHour: 2.5},
		Experiment: "shared-prefix",
	}
	if diff := cmp.Diff(want, parsed(t)); diff != "" {
		t.Error(diff)
	}
	empty, err := ParseScenario([]byte("# nothing said\n"))
	if err != nil || !cmp.Equal(empty, &Scenario{}) {
		t.Errorf("%+v, %v", empty, err)
	}
}

func TestShortForms(t *testing.T) {
	s, err := ParseScenario([]byte(`
workload:
  arrival: { concurrency: 16 }
  input: 2k
  output: uniform:min=10,max=20
  prefix: groups=2,tokens=64
slo: [ { ttft: 1s }, { class: batch, e2e: 60s } ]
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Workload{
		Name: "custom", Arrival: Arrival{Process: Closed, Concurrency: 16}, Input: Distribution{Kind: Fixed, Mean: 2000},
		Output: Distribution{Kind: Uniform, Min: 10, Max: 20}, Prefix: Prefix{Groups: 2, Tokens: 64},
	}
	if diff := cmp.Diff(want, s.Workload); diff != "" {
		t.Error(diff)
	}
	if len(s.SLO) != 2 || s.SLO[1].Class != "batch" {
		t.Errorf("%+v", s.SLO)
	}
	named, err := ParseScenario([]byte("workload: rag"))
	if err != nil || named.Workload.Name != "rag" || named.Workload.Input.Mean != 6000 {
		t.Errorf("%+v, %v", named, err)
	}
}

func TestScenarioErrors(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown key", "model: a\nacelerator: b\n", `line 2: unknown key "acelerator", did you mean "accelerator"?`},
		{"far key", "quux: 1\n", `line 1: unknown key "quux", expected one of model, accelerator`},
		{"nested unknown", "parallel:\n  tensr: 2\n", `line 2: unknown key "tensr", did you mean "tensor"?`},
		{"twice", "model: a\nmodel: b\n", "twice"},
		{"a list", "- model\n", "line 1: a scenario: expected keys and values, got a list"},
		{"two documents", "model: a\n---\nmodel: b\n", "expected one document"},
		{"rate", "workload:\n  arrival: { rate: -1/s }\n", "rate -1/s is outside"},
		{"rate unit", "workload:\n  arrival: { rate: 5/fortnight }\n", "unknown time unit"},
		{"closed with a rate", "workload:\n  arrival: { process: closed, rate: 5/s }\n", "line 2: arrival: a closed process has no rate, expected concurrency, ramp"},
		{"process", "workload:\n  arrival: { process: poison }\n", `did you mean "poisson"?`},
		{"distribution", "workload:\n  input: { lognormal: { mean: 10 } }\n", "line 2: input: lognormal needs mean and p99"},
		{"two distributions", "workload:\n  input: { fixed: 1, uniform: 2 }\n", "expected tokens, or one distribution"},
		{"classes", "workload:\n  classes: { a: 0.5, b: 0.4 }\n", "add up to 0.9, not 1"},
		{"degree", "parallel: { tensor: -1 }\n", "tensor parallel degree -1 is outside"},
		{"price", "price: { usd_per_accelerator_hour: -2 }\n", "usd_per_accelerator_hour -2 is outside"},
		{"SLO", "slo: { ttft: fast }\n", `ttft: parsing duration "fast"`},
		{"experiment", "experiment: shared-prefixes\n", `did you mean "shared-prefix"?`},
		{"null", "model:\n", "expected a value"},
		{"workload name", "workload: caht\n", `did you mean "chat"?`},
		{"broken", "model: [\n", "decoding YAML"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := ParseScenario([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("scenario %+v, error %v, want one line with %q", s, err, tc.want)
			}
		})
	}
}

func TestLoadFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "scenario.yaml")
	if err := os.WriteFile(path, []byte("modle: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadScenario(path); err == nil || !strings.Contains(err.Error(), "scenario.yaml: line 1") {
		t.Error(err)
	}
	if _, err := LoadWorkload(filepath.Join(dir, "absent.yaml")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	if _, err := LoadWorkload("cht"); err == nil || !strings.Contains(err.Error(), `did you mean "chat"?`) {
		t.Error(err)
	}
}

// TestShownProfilesReadBack writes every profile as it is shown and reads it.
func TestShownProfilesReadBack(t *testing.T) {
	for _, name := range WorkloadNames() {
		w, err := LoadWorkload(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseWorkload(marshal(t, w))
		if err != nil || !cmp.Equal(w, again) {
			t.Errorf("workload %s: %v, %s", name, err, cmp.Diff(w, again))
		}
	}
	dir := t.TempDir()
	for _, name := range AcceleratorNames() {
		a, err := LoadAccelerator(name)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name+".yaml")
		if err := os.WriteFile(path, marshal(t, a), 0o600); err != nil {
			t.Fatal(err)
		}
		again, err := LoadAccelerator(path)
		if err != nil || !cmp.Equal(a, again) {
			t.Errorf("accelerator %s: %v, %s", name, err, cmp.Diff(a, again))
		}
	}
	for _, name := range EngineNames() {
		e, err := LoadEngine(name)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseEngine(marshal(t, e))
		if err != nil || !cmp.Equal(e, again) {
			t.Errorf("engine %s: %v, %s", name, err, cmp.Diff(e, again))
		}
	}
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestScenarioJSON(t *testing.T) {
	data, err := json.Marshal(parsed(t))
	if err != nil {
		t.Fatal(err)
	}
	want := `{"model":"llama-3.1-8b","accelerator":"h100-sxm-80gb","engine":"vllm@0.19","parallel":{"tensor":2,"pipeline":1},` +
		`"workload":{"name":"custom","arrival":{"process":"poisson","rate_per_s":200},"input_tokens":{"kind":"lognormal","mean":1500,"p99":8000},` +
		`"output_tokens":{"kind":"lognormal","mean":256,"p99":1000},"prefix":{"groups":8,"tokens":750,"zipf_exponent":1.1},"turns":{"kind":"geometric","mean":3},"think_s":{"kind":"exponential","mean":8},` +
		`"cancel":{"fraction":0.02,"after_s":{"kind":"fixed","mean":2}},"tenants":20,` +
		`"classes":{"batch":0.1,"interactive":0.9}},"slo":[{"ttft_s":0.5,"tpot_s":0.05,"attainment":0.99}],"price":{"usd_per_accelerator_hour":2.5},"experiment":"shared-prefix"}`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
	if data, err = json.Marshal(Scenario{}); err != nil || string(data) != "{}" {
		t.Errorf("%s, %v", data, err)
	}
}

func TestScenariosReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		data, err := yaml.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ParseScenario(data)
		if err != nil {
			t.Fatalf("%v\n%s", err, data)
		}
		if diff := cmp.Diff(&s, again); diff != "" {
			t.Fatalf("%s\n%s", diff, data)
		}
	})
}

func FuzzParseScenario(f *testing.F) {
	f.Add([]byte(fullScenario))
	f.Add([]byte("workload: chat\nslo: [{ttft: 1s}, {class: b, e2e: 1m}]\n"))
	f.Add([]byte(clusterScenario))
	f.Add([]byte("cluster: &c { router: round_robin, autoscale: off }\nserving: { speculative: off }\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Add([]byte("workload: {input: &d {fixed: 3}, output: *d}\n"))
	for _, text := range grammarSeeds {
		f.Add([]byte("workload:\n  " + strings.ReplaceAll(text, "\n", "\n  ")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := ParseScenario(data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		written := marshal(t, s)
		again, err := ParseScenario(written)
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Fatalf("%s\n%s", diff, written)
		}
	})
}
