package sizing

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

func TestEvaluate(t *testing.T) {
	for text, want := range map[string]interval{
		"2 × 32 × 8":                          {512, 512},
		"1,024 − 24 ÷ 2":                      {1012, 1012},
		"(1 + 2) × 3 B":                       {9, 9},
		"1.5 GiB":                             {1.5 * (1 << 30), 1.5 * (1 << 30)},
		"⌈7 ÷ 2⌉ + ⌊7 ÷ 2⌋":                   {7, 7},
		"max(2, min(3, 4)) × √16":             {12, 12},
		"$4.50 ÷ (10/s × 3600 s)":             {4.5 / 36000, 4.5 / 36000},
		"1,500.0 × 0.0625":                    {0.0625 * 1499.95, 0.0625 * 1500.05},
		"10 ms ÷ (1 − 0.5000)":                {0.01 / 0.50005, 0.01 / 0.49995},
		"-2 + 1":                              {-1, -1},
		"min(1,000,000, 2,000) × 1":           {2000, 2000},
		"⌊28,000 ÷ 8,192 × 131,072⌋":          {448_000, 448_000},
		"27 × ((4 + 4) × 2 B + 4 B of index)": {540, 540},
	} {
		got, err := evaluate(text)
		if err != nil || math.Abs(got.low-want.low) > 1e-4*math.Abs(want.low) || math.Abs(got.high-want.high) > 1e-4*math.Abs(want.high) {
			t.Errorf("%s: %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "1 +", "3 parsecs", "(1", "1 ÷ 0", "bisection", "2 3"} {
		if got, err := evaluate(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestFigure(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 12: "12", -3: "-3", 1234567: "1,234,567", 256.00000000000006: "256", 1499.96: "1,500.0", 1705.04: "1,705.0", 2.5: "2.500",
		0.00001234567: "0.00001235", 99.996: "100.00", -1234.56: "-1,234.6", -0.5: "-0.5000",
	} {
		if got := figure(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	for v, want := range map[float64]string{4.5: "$4.50", 99: "$99.00", 1.2345678: "$1.2345678"} {
		if got := dollars(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := secondsFigure(94e-6) + " " + secondsFigure(0.0123456) + " " + bytesFigure(1.5*(1<<30)); got != "94 µs 12.35 ms 1.500 GiB" {
		t.Error(got)
	}
}

// TestDerivationsAreTrue evaluates what each line of each plan says. The result
// must be the line's value within the rounding of the numbers shown, and those
// must be exact enough to mean something.
func TestDerivationsAreTrue(t *testing.T) {
	t.Parallel()
	lines := map[string]int{}
	check := func(t *testing.T, p *Plan) {
		t.Helper()
		for _, d := range p.Derivation {
			if d.Substituted == "" {
				if d.Note == "" {
					t.Errorf("%s has neither arithmetic nor a note", d.Name)
				}
				continue
			}
			lines[d.Name]++
			got, err := evaluate(d.Substituted)
			if err != nil {
				t.Errorf("%s: %v", d.Name, err)
				continue
			}
			slack, whole := 1e-9*math.Abs(d.Value), 0.0
			switch d.Unit {
			case "B", "blocks", "tokens", "replicas":
				whole = 1
			}
			if d.Unit == "B" {
				slack++ // whole bytes
			}
			if d.Value < got.low-slack || d.Value > got.high+slack {
				t.Errorf("%s: %s is %v to %v, the value is %v", d.Name, d.Substituted, got.low, got.high, d.Value)
			}
			if got.high-got.low > 0.05*math.Abs(d.Value)+whole {
				t.Errorf("%s: %s is %v to %v, which says little about %v", d.Name, d.Substituted, got.low, got.high, d.Value)
			}
		}
	}
	named := map[string]func(*Request){
		"default":      nil,
		"200 rps":      func(r *Request) { r.Scenario.Workload.Arrival = rps(200) },
		"few requests": func(r *Request) { r.Scenario.Workload.Arrival = rps(0.0000123456) },
		"in flight": func(r *Request) {
			r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 2000}
		},
		"TP 2": func(r *Request) { r.Scenario.Parallel.Tensor = 2 },
		"PP 3": func(r *Request) { r.Scenario.Parallel.Pipeline = 3 },
		"data and experts": func(r *Request) {
			r.Scenario.Model, r.Scenario.Parallel = "qwen3-30b-a3b", profiles.Parallel{Tensor: 2, Data: 4, Expert: 8}
		},
		"states": func(r *Request) { r.Scenario.Model, r.Scenario.Accelerator = "qwen3.5-27b", "h200-sxm-141gb" },
		"states with prefixes, PP 2": func(r *Request) {
			r.Scenario.Model, r.Scenario.Engine, r.Scenario.Parallel.Pipeline = "qwen3.5-27b", "vllm", 2
		},
		"share of SGLang":   func(r *Request) { r.Scenario.Engine, r.GPUMemoryUtilization = "sglang", 0.88 },
		"states of SGLang":  func(r *Request) { r.Scenario.Model, r.Scenario.Engine = "qwen3.5-27b", "sglang" },
		"ranks of TensorRT": func(r *Request) { r.Scenario.Engine, r.Scenario.Parallel.Tensor = "tensorrt-llm", 4 },
		"given memory":      func(r *Request) { r.AcceleratorMemory = 75 << 30 },
		"fp8":               func(r *Request) { r.WeightDType, r.KVDType = "fp8", "fp8" },
		"eight at hand":     func(r *Request) { r.Count = 8 },
		"clients beyond": func(r *Request) {
			r.Count = 2
			r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: 3000}
		},
		"one may fail":   func(r *Request) { r.Spare, r.Scenario.Workload.Arrival = 1, rps(77) },
		"pools":          func(r *Request) { r.Disaggregate, r.Spare, r.Scenario.Workload.Arrival = true, 1, rps(77) },
		"pools, no load": func(r *Request) { r.Disaggregate = true },
		"pools, PP 2":    func(r *Request) { r.Disaggregate, r.Scenario.Parallel.Pipeline = true, 2 },
		"int4 on T4": func(r *Request) {
			r.WeightDType, r.Scenario.Accelerator, r.Scenario.SLO = "int4", "t4-16gb", nil
		},
		"given pool":   func(r *Request) { r.KVCacheMemory = 10 << 30 },
		"does not fit": func(r *Request) { r.Scenario.Accelerator = "t4-16gb" },
		"small steps":  func(r *Request) { r.MaxNumBatchedTokens = 512 },
		"blocks of 64": func(r *Request) { r.BlockSize = 64 },
		"no sharing":   func(r *Request) { r.Scenario.Workload.Input = fixed(1500) },
		"office and API": func(r *Request) {
			r.Scenario.Workload.Arrival, r.LoadProfile = rps(200), profile(t, "office")
			r.APIPrice = profiles.APIPrice{In: 0.15, Cached: 0.075, Out: 0.6}
		},
		"rates and a cheap API": func(r *Request) {
			r.LoadProfile = profiles.LoadProfile{Name: "given", Rates: true, Hours: slices.Repeat([]float64{0.123456, 17.3, 99.9}, 8)}
			r.APIPrice = profiles.APIPrice{In: 0.0123, Out: 0.0456789}
		},
		"day without a price": func(r *Request) { r.Scenario.Accelerator, r.LoadProfile = "a100-pcie-80gb", profile(t, "evening") },
		"odd numbers": func(r *Request) {
			r.GPUMemoryUtilization, r.TargetUtilization, r.Scenario.Price.USDPerAcceleratorHour = 0.8765432, 0.7654321, 1.2345678
		},
	}
	for name, change := range named {
		t.Run(name, func(t *testing.T) { check(t, mustCompute(t, scenario(change))) })
	}
	for _, engine := range profiles.EngineNames() {
		t.Run(engine, func(t *testing.T) {
			for _, model := range []string{"llama-3.1-8b", "gpt-oss-20b"} {
				check(t, mustCompute(t, scenario(func(r *Request) { r.Scenario.Engine, r.Scenario.Model = engine, model })))
			}
		})
	}
	for _, model := range profiles.ModelNames() {
		for _, kv := range []string{"", "fp8"} {
			t.Run(model+" "+kv, func(t *testing.T) {
				r := scenario(func(r *Request) {
					r.Scenario.Model, r.Scenario.Accelerator, r.Scenario.Parallel.Tensor, r.KVDType = model, "b300-270gb", 8, kv
				})
				p, err := Compute(r)
				if err != nil {
					r.Scenario.Parallel.Tensor = 1
					p, err = Compute(r)
				}
				if !planned(model) {
					if err == nil || !strings.Contains(err.Error(), "caches compressed vectors") {
						t.Fatalf("error %v, the pool of compressed vectors can not be planned", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				check(t, p)
			})
		}
	}
	for _, name := range []string{
		"KV cache per token", "KV cache per token beyond the windows", "weights per accelerator", "reserve", "activation peak", "average requests at once",
		"decode step", "queue utilization", "prompts ahead", "deviation of the wait", "TPOT, mean", "batch", "utilization with failures", "time to send it",
		"decode pool: batch", "prompts beside", "TTFT, mean", "replicas", "cost per 1M input tokens", "cost per month",
		"mean rate of the day", "replica hours when autoscaled", "break-even rate", "cost per day, base and burst",
	} {
		if lines[name] == 0 {
			t.Errorf("no plan derives %s", name)
		}
	}
}
