package profiles

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWorkloadGrammar(t *testing.T) {
	delay := func(kind DistributionKind, mean time.Duration) Delay { return Delay{Kind: kind, Mean: mean} }
	for text, want := range map[string]Workload{
		"session: { turns: { geometric: { mean: 3 } }, think: { exponential: { mean: 8s } } }": {
			Session: Session{Distribution{Kind: Geometric, Mean: 3}, delay(Exponential, 8*time.Second)}},
		"session: { turns: 3, think: 8s }":            {Session: Session{Distribution{Kind: Fixed, Mean: 3}, delay(Fixed, 8*time.Second)}},
		"session: { turns: 3, think: { fixed: 8s } }": {Session: Session{Distribution{Kind: Fixed, Mean: 3}, delay(Fixed, 8*time.Second)}},
		"session: { turns: 3, think: { uniform: { min: 0s, max: 3s } } }": {
			Session: Session{Distribution{Kind: Fixed, Mean: 3}, Delay{Kind: Uniform, Max: 3 * time.Second}}},
		"cancel: { fraction: 0.02, after: 2s }":                            {Cancel: Cancel{0.02, delay(Fixed, 2*time.Second)}},
		"cancel: { fraction: 0.02, after: { exponential: { mean: 2s } } }": {Cancel: Cancel{0.02, delay(Exponential, 2*time.Second)}},
		"cancel: 'fraction=0.02,after=normal:mean=2s,stddev=1s'":           {Cancel: Cancel{0.02, Delay{Kind: Normal, Mean: 2 * time.Second, StdDev: time.Second}}},
		"models: { org/a-8B: 0.7, 'b:1.0': 0.3 }":                          {Models: map[string]float64{"org/a-8B": 0.7, "b:1.0": 0.3}},
		"tools: 0.1\njson_schema: 0.2\ntenants: 3":                         {Tools: 0.1, Schema: 0.2, Tenants: 3},
		"trace: { file: x.csv, format: azure }":                            {Trace: Trace{"x.csv", "azure"}},
		"trace: x.csv":                                                     {Trace: Trace{File: "x.csv"}},
		"input: { zipf: { exponent: 1.1, min: 10, max: 4k } }":             {Input: Distribution{Kind: Zipf, Exponent: 1.1, Min: 10, Max: 4000}},
		"input: { geometric: { mean: 30 } }":                               {Input: Distribution{Kind: Geometric, Mean: 30}},
		"input: { empirical: [400, 12] }":                                  {Input: Distribution{Kind: Empirical, Samples: &Samples{Values: []float64{12, 400}}}},
		"input: { empirical: { file: lengths.txt } }":                      {Input: Distribution{Kind: Empirical, Samples: &Samples{File: "lengths.txt"}}},
		"input: empirical:12,400":                                          {Input: Distribution{Kind: Empirical, Samples: &Samples{Values: []float64{12, 400}}}},
		"input: empirical:lengths.txt":                                     {Input: Distribution{Kind: Empirical, Samples: &Samples{File: "lengths.txt"}}},
	} {
		want.Name = "custom"
		w, err := ParseWorkload([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if diff := cmp.Diff(want, *w); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
		again, err := ParseWorkload(marshal(t, w))
		if diff := cmp.Diff(w, again); err != nil || diff != "" {
			t.Errorf("%s is written as %s: %v, %s", text, marshal(t, w), err, diff)
		}
	}
}

// TestWorkloadGrammarErrors gives each line its number.
func TestWorkloadGrammarErrors(t *testing.T) {
	for text, want := range map[string]string{
		"session: { turn: 3 }":                                          `line 1: unknown key "turn", did you mean "turns"?`,
		"session: { turns: 0 }":                                         "line 1: turns: parsing distribution",
		"session: { turns: 20000 }":                                     "line 1: session: turns: 20000 are more than 10000",
		"session: { turns: 3, think: 8 }":                               `parsing delay "8", expected a time like 8s`,
		"session: { think: { exponental: { mean: 8s } } }":              `unknown distribution of times "exponental", did you mean "exponential"?`,
		"session: { think: { exponential: { mean: -8s } } }":            "mean -8s is outside 0 to",
		"session: { think: { exponential: {} } }":                       "exponential needs mean",
		"session: { think: { uniform: { min: 3s, max: 1s } } }":         "max 1s is below min 3s",
		"session: { think: { lognormal: { mean: 1s, p99: 1h } } }":      "no lognormal distribution has both",
		"tenants: 2\nsession: { think: 8s }\narrival: { rate: 4/s }":    "line 2: session: think has no effect",
		"arrival: { concurrency: 4 }\nsession: { turns: 1, think: 8s }": "line 2: session: think has no effect",
		"cancel: { fraction: 0.1 }":                                     "fraction 0.1 needs after",
		"cancel: { after: 2s }":                                         "after needs a fraction above 0",
		"cancel: { fraction: 1.1, after: 2s }":                          "fraction 1.1 is outside 0 to 1",
		"cancel: fraction=0.1":                                          "expected one like fraction=0.02,after=2s",
		"cancel: share=0.1,after=2s":                                    `unknown cancel parameter "share"`,
		"models: { a: 0.7, b: 0.2 }":                                    "line 1: models: the shares add up to",
		"models: { 'a b': 1 }":                                          `"a b" is no name of a model`,
		"models: [a]":                                                   "expected models and shares, got a list",
		"models: { a: 1.2 }":                                            "share 1.2 of a is outside 0 to 1",
		"classes: { 'a/b': 1 }":                                         `class "a/b" is not a name`,
		"classes: { a: 0.5, a: 0.5 }":                                   `"a" is given twice`,
		"tools: 2":                                                      "line 1: tools: share 2 is outside 0 to 1",
		"tenants: 1\njson_schema: -1":                                   "line 2: json_schema: share -1 is outside 0 to 1",
		"json-schema: 1":                                                `did you mean "json_schema"?`,
		"trace: '-'":                                                    `"-" is no file`,
		"trace: https://example.com/x.csv":                              "is an address, expected a file",
		"trace: { format: azure }":                                      "a trace needs a file",
		"trace: { file: x, format: azur }":                              `unknown trace format "azur", did you mean "azure"?`,
		"trace: x.csv\ninput: 100":                                      "line 2: input: the requests of a trace have their own",
		"trace: x.csv\nprefix: none":                                    "line 2: prefix: the requests of a trace",
		"trace: x.csv\nsession: { turns: 3 }":                           "line 2: session: the requests of a trace",
		"arrival: { process: trace }":                                   "line 1: arrival: a trace process needs a trace",
		"input: { zipf: { exponent: 1.1, min: 10 } }":                   "zipf needs exponent and min and max",
		"input: { zipf: { exponent: 11, min: 10, max: 20 } }":           "exponent 11 is outside 0 to 10",
		"input: { zipf: { exponent: 1, min: 10, max: 9 } }":             "max 9 is below min 10",
		"input: { zipf: { exponent: 1, min: 1.5, max: 9 } }":            "zipf draws whole numbers",
		"input: { geometric: { mean: 0.5 } }":                           "mean 0.5 is outside 1",
		"input: { exponential: { mean: 5 } }":                           `unknown distribution "exponential"`,
		"input: { empirical: [] }":                                      "empirical needs a file, or a list of values",
		"input: { empirical: [1, 0] }":                                  `"0" is no number of 1 to`,
		"input: { empirical: [1, x] }":                                  `"x" is no number of 1 to`,
		"input: { empirical: {} }":                                      "empirical needs a file",
		"input: { empirical: { fil: x } }":                              `did you mean "file"?`,
		"input: { empirical: { file: '-' } }":                           `"-" is no file`,
		"input: { empirical: x.txt }":                                   "empirical: expected keys and values",
	} {
		_, err := ParseWorkload([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line ") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", text, err, want)
		}
	}
}

// TestLoadNamedFiles: paths are relative to the scenario, and errors name file,
// line and column.
func TestLoadNamedFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	lengths := write("lengths.txt", "# tokens\n400\n\n 12  # short\r\n1.5k\n")
	scenario := write("s.yaml", "workload:\n  input: { empirical: { file: lengths.txt } }\n  session: { turns: { empirical: [1, 3] } }\n")
	s, err := LoadScenario(scenario)
	if err != nil {
		t.Fatal(err)
	}
	want := &Samples{File: lengths, Values: []float64{12, 400, 1500}}
	if diff := cmp.Diff(want, s.Workload.Input.Samples); diff != "" {
		t.Error(diff)
	}
	if err := s.Workload.Validate(); err != nil {
		t.Error(err)
	}
	unread, err := ParseScenario([]byte("workload:\n  input: { empirical: { file: lengths.txt } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := unread.Workload.Validate(); err == nil || !strings.Contains(err.Error(), "input: the empirical values of lengths.txt have not been read") {
		t.Error(err)
	}
	w, err := LoadWorkload(write("w.yaml", "trace: sub/x.csv\n"))
	if err != nil || w.Trace.File != filepath.Join(dir, "sub", "x.csv") {
		t.Errorf("%+v, %v", w, err)
	}
	if d, err := LoadDistribution("empirical:" + lengths); err != nil || d.Average() != (12+400+1500)/3. {
		t.Errorf("%+v, %v", d, err)
	}
	for text, want := range map[string]string{
		"12\n x y\n": "bad.txt:2:2: \"x y\" is no number of 1 to",
		"12\n-3\n":   "bad.txt:2:1: \"-3\" is no number",
		"":           "bad.txt: no number in it",
		"# none\n":   "bad.txt: no number in it",
	} {
		write("bad.txt", text)
		_, err := LoadScenario(write("bad.yaml", "workload:\n  output: { empirical: { file: bad.txt } }\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "output: reading lengths") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := LoadDistribution("empirical:" + filepath.Join(dir, "absent.txt")); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
	if _, err := LoadScenario(write("t.yaml", "workload:\n  session: { turns: { empirical: { file: long.txt } } }\n")); err == nil {
		t.Error("a file that is not there is read")
	}
	write("long.txt", "20000\n")
	if _, err := LoadScenario(filepath.Join(dir, "t.yaml")); err == nil || !strings.Contains(err.Error(), "turns: 20000 are more than 10000") {
		t.Error(err)
	}
}

func TestGrammarJSON(t *testing.T) {
	for text, want := range map[string]string{
		grammarSeeds[1]:                `{"name":"custom","arrival":{"process":"ramp","from_per_s":1,"to_per_s":50,"over_s":300},"output_tokens":{"kind":"geometric","mean":30}}`,
		grammarSeeds[2]:                `{"name":"custom","arrival":{"process":"steps","cv":1,"steps":[{"rate_per_s":1,"for_s":60},{"rate_per_s":5,"for_s":120}]},"input_tokens":{"kind":"empirical","values":[12,400]}}`,
		grammarSeeds[3]:                `{"name":"custom","arrival":{"process":"sine","rate_per_s":10,"amplitude_per_s":5,"period_s":60},"input_tokens":{"file":"lengths.txt","kind":"empirical"}}`,
		grammarSeeds[4]:                `{"name":"custom","arrival":{"process":"trace","speed":2},"trace":{"file":"x.csv","format":"azure"}}`,
		grammarSeeds[6]:                `{"name":"custom","arrival":{"process":"users","users":50,"ramp_s":10},"think_s":{"kind":"fixed","mean":8}}`,
		grammarSeeds[9]:                `{"name":"custom","cancel":{"fraction":0.02,"after_s":{"kind":"lognormal","mean":2,"p99":9}},"tools":0.1,"json_schema":0.1}`,
		"arrival: ramp:to=5/s,over=1m": `{"name":"custom","arrival":{"process":"ramp","from_per_s":0,"to_per_s":5,"over_s":60}}`,
	} {
		w, err := ParseWorkload([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(w)
		if diff := cmp.Diff(want, string(data)); err != nil || diff != "" {
			t.Errorf("%s: %v, %s", text, err, diff)
		}
	}
}

// TestDiscreteDistributions holds sums, quantiles and shares against counting.
func TestDiscreteDistributions(t *testing.T) {
	for _, d := range []Distribution{
		{Kind: Zipf, Exponent: 1.1, Min: 10, Max: 4000}, {Kind: Zipf, Exponent: 0, Min: 3, Max: 300}, {Kind: Zipf, Exponent: 1, Min: 1, Max: 2},
		{Kind: Zipf, Exponent: 2, Min: 1, Max: 1000}, {Kind: Zipf, Exponent: 0.5, Min: 7, Max: 7}, {Kind: Zipf, Exponent: 10, Min: 5, Max: 500},
	} {
		total, mean := 0.0, 0.0
		for k := 1.0; k <= d.Max-d.Min+1; k++ {
			total += math.Pow(k, -d.Exponent)
			mean += math.Pow(k, -d.Exponent) * (d.Min + k - 1)
		}
		if got := d.Average(); math.Abs(got-mean/total) > 1e-9*got {
			t.Errorf("%s: mean %v, counted %v", d, got, mean/total)
		}
		share := 0.0
		for k := 1.0; k <= d.Max-d.Min+1; k++ {
			share += math.Pow(k, -d.Exponent) / total
			v := d.Min + k - 1
			if got := d.Below(v); math.Abs(got-share) > 1e-9 {
				t.Fatalf("%s: the share up to %v is %v, counted %v", d, v, got, share)
			}
			if got := d.Quantile(share - 1e-6); share > 1e-5 && math.Pow(k, -d.Exponent)/total > 1e-5 && got != v {
				t.Fatalf("%s: quantile %v is %v, counted %v", d, share, got, v)
			}
		}
	}
	g := Distribution{Kind: Geometric, Mean: 4}
	mean, alive := 0.0, 1.0
	for k := 1.0; k < 400; k++ {
		mean += alive
		alive *= 0.75
		if got := g.Below(k); math.Abs(got-(1-alive)) > 1e-12 {
			t.Fatalf("the share up to %v is %v, want %v", k, got, 1-alive)
		}
	}
	if math.Abs(mean-g.Average()) > 1e-9 || g.Quantile(0.5) != 3 || g.Quantile(0) != 1 || (Distribution{Kind: Geometric, Mean: 1}).Quantile(0.99) != 1 {
		t.Errorf("mean %v, median %v", mean, g.Quantile(0.5))
	}
	e := Distribution{Kind: Empirical, Samples: &Samples{Values: []float64{1, 2, 2, 9}}}
	for p, want := range map[float64]float64{0: 1, 0.25: 1, 0.26: 2, 0.75: 2, 0.76: 9, 1: 9} {
		if got := e.Quantile(p); got != want {
			t.Errorf("quantile %v is %v, want %v", p, got, want)
		}
	}
	long := Distribution{Kind: Empirical, Samples: &Samples{Values: make([]float64, 1200)}}
	if e.Words() != "empirical:1,2,2,9" || long.Words() != "empirical of 1,200 values" {
		t.Errorf("%q, %q", e.Words(), long.Words())
	}
	if e.Average() != 3.5 || e.Below(2) != 0.75 || e.Below(0.5) != 0 || e.Largest() != 9 {
		t.Errorf("%v %v", e.Average(), e.Below(2))
	}
}

func FuzzParseDelay(f *testing.F) {
	for _, s := range []string{"8s", "exponential:mean=8s", "uniform:min=1s,max=3s", "lognormal:mean=1s,p99=4s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDelay(s)
		if err != nil {
			return
		}
		if again, err := ParseDelay(d.String()); err != nil || again != d {
			t.Fatalf("%q is written as %q: %+v, %v", s, d, again, err)
		}
	})
}

func FuzzParseCancel(f *testing.F) {
	f.Add("fraction=0.02,after=2s")
	f.Add("fraction=0.1,after=normal:mean=2s,stddev=1s")
	f.Fuzz(func(t *testing.T, s string) {
		c, err := ParseCancel(s)
		if err != nil {
			return
		}
		if again, err := ParseCancel(c.String()); err != nil || again != c {
			t.Fatalf("%q is written as %q: %+v, %v", s, c, again, err)
		}
	})
}

func FuzzParseSampleLines(f *testing.F) {
	f.Add([]byte("# tokens\n400\n\n 12  # short\r\n1.5k\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		values, err := parseSampleLines("x", data)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		if err := (&Samples{Values: values}).validate(); err != nil {
			t.Fatal(err)
		}
	})
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestDocumentedScenarios: what docs/scenario.md shows is read, and it names every
// key, process and distribution.
func TestDocumentedScenarios(t *testing.T) {
	text, err := os.ReadFile("../docs/scenario.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllSubmatch(text, -1)
	if len(blocks) < 5 {
		t.Fatalf("found %d scenarios", len(blocks))
	}
	for _, block := range blocks {
		if _, err := ParseScenario(block[1]); err != nil {
			t.Errorf("%v:\n%s", err, block[1])
		}
	}
	words := slices.Concat(processes, countKinds, delayKinds, TraceFormats, arrivalNames,
		[]string{"input", "output", "prefix", "session", "turns", "think", "cancel", "fraction", "after", "classes", "tenants", "models", "tools", "json_schema", "trace", "name", "class", "tenant", "also", "serving", "cluster", "run"},
		Policies, CacheSalts, BatchingModes, KVLayouts, CachingModes, Roles, RouterPolicies, AutoscaleMetrics, FailureKinds, OutageTargets)
	s := Scenario{Cluster: Cluster{Pools: make([]Pool, 1), Failures: make([]Failure, 1)}}
	for _, section := range []section{
		&s.Serving, &s.Serving.Speculative, &s.Serving.Offload, &s.Cluster, &s.Cluster.Pools[0], &s.Cluster.Router, &s.Cluster.Gateway,
		&s.Cluster.Gateway.Limits, &s.Cluster.Gateway.Retry, &s.Cluster.Gateway.Fallback, &s.Cluster.Link, &s.Cluster.Autoscale, &s.Cluster.Failures[0], &s.Run,
	} {
		for _, slot := range section.slots() {
			if !regexp.MustCompile("`([a-z ]+: )?" + slot.name + "`").Match(text) {
				t.Errorf("docs/scenario.md does not explain %s of %s", slot.name, section.form().what)
			}
		}
	}
	for _, word := range words {
		if !strings.Contains(string(text), "`"+word+"`") {
			t.Errorf("docs/scenario.md does not explain %s", word)
		}
	}
}
