package profiles

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSuggest(t *testing.T) {
	known := []string{"llama-3.1-8b", "llama-3.1-70b", "qwen3-8b", "h100-sxm-80gb"}
	for name, want := range map[string]string{
		"lama-3.1-8b":   "llama-3.1-8b",
		"llama-3.1-b8":  "llama-3.1-8b",
		"QWEN3-8B":      "qwen3-8b",
		"h100":          "h100-sxm-80gb",
		"something new": "",
		"":              "",
	} {
		if got := Suggest(name, known); got != want {
			t.Errorf("%q suggests %q, want %q", name, got, want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	known := []string{"bf16", "fp16"}
	for name, want := range map[string]string{"bf61": `, did you mean "bf16"?`, "FP16x": `, did you mean "fp16"?`, "quarter": "", "": ""} {
		if got := DidYouMean(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
	if got := unknown("dtype", "quarter", known, "expected one of two").Error(); got != `unknown dtype "quarter", expected one of two` {
		t.Error(got)
	}
}

func TestParseDistribution(t *testing.T) {
	for text, want := range map[string]Distribution{
		"2048":                        {Kind: Fixed, Mean: 2048},
		"8k":                          {Kind: Fixed, Mean: 8000},
		"fixed:mean=10":               {Kind: Fixed, Mean: 10},
		"lognormal:mean=2048,p99=8k":  {Kind: Lognormal, Mean: 2048, P99: 8000},
		"uniform:min=10, max=20":      {Kind: Uniform, Min: 10, Max: 20},
		" normal:mean=500,stddev=0 ":  {Kind: Normal, Mean: 500},
		"normal:mean=500,stddev=12.5": {Kind: Normal, Mean: 500, StdDev: 12.5},
	} {
		got, err := ParseDistribution(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
			continue
		}
		if again, err := ParseDistribution(got.String()); err != nil || again != want {
			t.Errorf("%q is written as %q, which reads as %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                             "expected tokens like 2048",
		"many":                         "expected tokens like 2048",
		"0":                            "mean 0 is outside 1",
		"-5":                           "mean -5 is outside 1",
		"1e12":                         "parsing",
		"2000M":                        "mean 2e+09 is outside",
		"lognormal:mean=10":            "lognormal needs mean and p99",
		"lognormal:mean=10,p99=5":      "p99 5 is below mean 10",
		"lognormal:mean=10,p99=900":    "no lognormal distribution has both",
		"uniform:min=20,max=10":        "max 10 is below min 20",
		"normal:mean=5,stddev=-1":      "stddev -1 is outside",
		"lognormal:mean=10,p98=20":     `lognormal has no parameter "p98"`,
		"lognromal:mean=10,p99=20":     `did you mean "lognormal"?`,
		"fixed:mean=1,mean=2":          "mean is given twice",
		"uniform:10-20":                "expected name=value",
		"lognormal:mean=NaN,p99=20":    "parsing",
		"normal:mean=10,stddev=Inf":    "parsing",
		"lognormal:mean=10,p99=20,x=1": `no parameter "x"`,
	} {
		if got, err := ParseDistribution(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, want)
		}
	}
}

func TestParsePrefix(t *testing.T) {
	for text, want := range map[string]Prefix{
		"none":                                      {None: true},
		"groups=4,tokens=1024":                      {Groups: 4, Tokens: 1024},
		"tokens=1k, groups=4":                       {Groups: 4, Tokens: 1000},
		"groups=4,tokens=8,popularity=zipf(1.1)":    {Groups: 4, Tokens: 8, Popularity: 1.1},
		"groups=4,tokens=8,popularity=uniform":      {Groups: 4, Tokens: 8},
		"popularity=zipf(0.5),groups=1,tokens=2048": {Groups: 1, Tokens: 2048, Popularity: 0.5},
	} {
		got, err := ParsePrefix(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
			continue
		}
		if again, err := ParsePrefix(got.String()); err != nil || again != want {
			t.Errorf("%q is written as %q: %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                                      "expected name=value",
		"groups=4":                              "must both be above 0",
		"tokens=4":                              "must both be above 0",
		"groups=-1,tokens=4":                    "groups -1 is outside",
		"groups=1.5,tokens=4":                   "not a whole number",
		"group=4,tokens=4":                      `did you mean "groups"?`,
		"groups=4,tokens=4,popularity=1.1":      "neither uniform nor like zipf(1.1)",
		"groups=4,tokens=4,popularity=zipf(-1)": "popularity -1 is outside",
	} {
		if got, err := ParsePrefix(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, want)
		}
	}
}

func TestParseSLO(t *testing.T) {
	for text, want := range map[string]SLO{
		"ttft=500ms,tpot=50ms":             {TTFT: 500 * time.Millisecond, TPOT: 50 * time.Millisecond},
		"batch:e2e=60s":                    {Class: "batch", E2E: time.Minute},
		"ttfo=1s, attainment=0.95":         {TTFO: time.Second, Attainment: 0.95},
		"inter-active:ttft=1.5s,e2e=2m30s": {Class: "inter-active", TTFT: 1500 * time.Millisecond, E2E: 150 * time.Second},
	} {
		got, err := ParseSLO(text)
		if err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
			continue
		}
		if again, err := ParseSLO(got.String()); err != nil || again != want {
			t.Errorf("%q is written as %q: %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                        "expected name=value",
		"ttft=500":                "expected one like 500ms",
		"ttft=-1s":                "outside 0 to",
		"ttft=0s":                 "outside 0 to",
		"ttft=1s,ttft=2s":         "given twice",
		"tfft=1s":                 `did you mean "ttft"?`,
		"attainment=0.9":          "no bound given",
		"ttft=1s,attainment=1.5":  `attainment "1.5" is outside 0 to 1`,
		":ttft=1s":                `class "" is not a name`,
		"a b:ttft=1s":             `class "a b" is not a name`,
		"ttft=1s,attainment=NaN":  "outside 0 to 1",
		"e2e=100h":                "outside 0 to",
		"batch:":                  "expected name=value",
		"ttft=1s,attainment=0":    "outside 0 to 1",
		"ttft=1s,attainment=high": "outside 0 to 1",
	} {
		if got, err := ParseSLO(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v, want %q", text, got, err, want)
		}
	}
	if got := (SLO{TTFT: 1}).Target(); got != DefaultAttainment {
		t.Errorf("target %v", got)
	}
}

func TestLoadEngine(t *testing.T) {
	for ref, want := range map[string]struct {
		utilization float64
		inBudget    bool
		version     string
	}{
		"vllm@0.11.0":                     {0.90, false, "0.11.0"},
		"vllm@0.19":                       {0.90, false, "0.19"},
		"vllm@0.19.1":                     {0.90, false, "0.19.1"},
		"vllm@v0.20":                      {0.90, false, "v0.20"},
		"vllm@0.21.0":                     {0.90, true, "0.21.0"},
		"vllm@0.23":                       {0.92, true, "0.23"},
		"vllm@0.11.0rc2.dev98+g393de22d2": {0.90, false, "0.11.0rc2.dev98+g393de22d2"},
		"vllm@0.24.0+rhaiv.13":            {0.92, true, "0.24.0+rhaiv.13"},
		"vllm@0.6.6.post2":                {0.90, false, "0.6.6.post2"},
		"sglang@0.5.6.post2":              {1, false, "0.5.6.post2"},
		"tensorrt-llm@1.2":                {0.90, false, "1.2"},
		"vllm":                            {0.92, true, "0.31"},
		"vllm@0.26.1rc":                   {0.92, true, "0.26.1rc"},
		"vllm@0.33.1":                     {0.92, true, "0.33.1"},
		"vllm@1.0":                        {0.92, true, "1.0"},
		"sglang@0.6":                      {1, false, "0.6"},
	} {
		e, err := LoadEngine(ref)
		if err != nil || e.Utilization != want.utilization || e.CUDAGraph.InBudget != want.inBudget || e.Version != want.version {
			t.Errorf("%s: %+v, %v", ref, e, err)
		}
	}
	for ref, want := range map[string]string{
		"vlm":       `unknown engine "vlm", did you mean "vllm"?`,
		"vllm@":     `version "" is not like`,
		"vllm@0.":   `version "0." is not like`,
		"vllm@new":  `version "new" is not like`,
		"vllm@0.1":  "older than the data, which begins at vllm@0.2",
		"vllm@0.99": "newer than the data, which ends at vllm@0.31, by more than a major version",
		"vllm@2":    "newer than the data",
	} {
		if _, err := LoadEngine(ref); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", ref, err, want)
		}
	}
	e, _ := LoadEngine("vllm@0.19")
	if got := e.Origin("activation", "non_torch"); !strings.Contains(got, "0.17") || !strings.Contains(got, "; 60 start-up logs") {
		t.Errorf("the activation and what is outside of torch come from %q", got)
	}
	for name, want := range map[string]int{"h100-sxm-80gb": 1024, "a100-sxm-80gb": 256, "l4-24gb": 256, "b200-180gb": 1024} {
		a, err := LoadAccelerator(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Limits(a).MaxSeqs; got != want {
			t.Errorf("%s runs %d sequences, want %d", name, got, want)
		}
	}
}

func TestParseWeightFormat(t *testing.T) {
	q, err := ParseWeightFormat("INT4")
	if diff := cmp.Diff(Quantization{Encoding: Encoding{Method: "int4", Bits: 4, GroupSize: 128, ZeroPoints: true}}, q); err != nil || diff != "" {
		t.Error(err, diff)
	}
	if _, err := ParseWeightFormat("fp16x"); err == nil || !strings.Contains(err.Error(), `did you mean "fp16"?`) {
		t.Error(err)
	}
}

func FuzzParseDistribution(f *testing.F) {
	for _, s := range []string{"2048", "8k", "lognormal:mean=2048,p99=8000", "uniform:min=1,max=2", "normal:mean=5,stddev=1", "fixed:mean=1", "zipf:exponent=1.1,min=1,max=9", "geometric:mean=3", "empirical:12,400", "empirical:a.txt"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseDistribution(s)
		if err != nil {
			return
		}
		again, err := ParseDistribution(d.String())
		if err != nil || !cmp.Equal(again, d) {
			t.Fatalf("%q reads as %+v, is written as %q and reads as %+v, %v", s, d, d, again, err)
		}
		if d.Kind == Lognormal {
			if mu, sigma := d.LogParameters(); !(sigma >= 0 && sigma < 3) || mu != mu {
				t.Fatalf("%q has mu %v and sigma %v", s, mu, sigma)
			}
		}
	})
}

func FuzzParsePrefix(f *testing.F) {
	for _, s := range []string{"none", "groups=4,tokens=1024", "groups=4,tokens=8,popularity=zipf(1.1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := ParsePrefix(s)
		if err != nil {
			return
		}
		if again, err := ParsePrefix(p.String()); err != nil || p.Groups > 0 && again != p {
			t.Fatalf("%q reads as %+v, is written as %q and reads as %+v, %v", s, p, p, again, err)
		}
	})
}

func FuzzParseSLO(f *testing.F) {
	for _, s := range []string{"ttft=500ms,tpot=50ms", "batch:e2e=60s", "ttfo=1s,attainment=0.95"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		slo, err := ParseSLO(s)
		if err != nil {
			return
		}
		if again, err := ParseSLO(slo.String()); err != nil || again != slo {
			t.Fatalf("%q reads as %+v, is written as %q and reads as %+v, %v", s, slo, slo, again, err)
		}
	})
}

func TestSuggestIsQuickAndShort(t *testing.T) {
	long := strings.Repeat("llama", 1_000_000)
	if got := Suggest(long, ModelNames()); got != "" {
		t.Errorf("a file of names is taken for %q", got)
	}
	if _, err := LoadModel(long); err == nil || len(err.Error()) > 500 {
		t.Errorf("an endless name gives an endless error: %d bytes", len(err.Error()))
	}
}

func TestLargest(t *testing.T) {
	for text, want := range map[string]float64{
		"2048": 2048, "uniform:min=10,max=300": 300, "lognormal:mean=1500,p99=8000": 8000,
	} {
		d, err := ParseDistribution(text)
		if err != nil || d.Largest() != want {
			t.Errorf("%s: %v, %v, want %v", text, d.Largest(), err, want)
		}
	}
}
