package sizing

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// extended is a model whose user stretched its window with yarn.
const extended = `{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
"num_attention_heads": 28, "num_hidden_layers": 28, "num_key_value_heads": 4, "vocab_size": 152064, "max_position_embeddings": 32768,
"rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}, "torch_dtype": "bfloat16"}`

// warningCases has for each warning a request that gives it and a neighbour that
// does not.
func warningCases(t *testing.T) map[string][2]func(*Request) {
	t.Helper()
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(extended), 0o600); err != nil {
		t.Fatal(err)
	}
	tower := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(tower, []byte(strings.Replace(extended, "{", `{"vision_config": {"model_type": "novel_tower"}, `, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	embeds := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(embeds, []byte(strings.Replace(extended, "Qwen2ForCausalLM", "Qwen2ForSequenceClassification", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	right, wrong := checkpoint(t, 2048), checkpoint(t, 4096)
	april := time.Date(2026, 4, 4, 0, 0, 0, 0, time.UTC)
	return map[string][2]func(*Request){
		"slo-class": {
			func(r *Request) { r.Scenario.SLO = []profiles.SLO{{Class: "batch", E2E: time.Minute}} },
			func(r *Request) { r.Scenario.SLO = []profiles.SLO{{E2E: time.Minute}} },
		},
		"attainment": {
			func(r *Request) { r.Scenario.SLO = []profiles.SLO{{E2E: time.Minute, Attainment: 1}} },
			func(r *Request) { r.Scenario.SLO = []profiles.SLO{{E2E: time.Minute, Attainment: 0.9999}} },
		},
		"window": {
			func(r *Request) { r.MaxModelLen = 4096 },
			func(r *Request) { r.MaxModelLen = 32_768 },
		},
		"calibration-unused": {
			func(r *Request) { r.Calibration = []cost.Entry{{Engine: "sglang"}} },
			func(r *Request) { r.Calibration = cost.Table() },
		},
		"no-price": {
			func(r *Request) { r.Scenario.Accelerator = "a100-pcie-80gb" },
			func(r *Request) {
				r.Scenario.Accelerator, r.Scenario.Price.USDPerAcceleratorHour = "a100-pcie-80gb", 2
			},
		},
		"old-price": {
			func(r *Request) { r.Today = april.AddDate(1, 0, 0) },
			func(r *Request) { r.Today = april },
		},
		"max-model-len": {
			func(r *Request) { r.Scenario.Accelerator = "rtx-4090-24gb" },
			func(r *Request) { r.Scenario.Accelerator, r.MaxModelLen = "rtx-4090-24gb", 16_384 },
		},
		"default-slo": {
			func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "llama-3.1-70b", 4 },
			nil,
		},
		"vision-tower": {
			func(r *Request) { r.Scenario.Model = tower },
			func(r *Request) { r.Scenario.Model = "gemma-3-27b" },
		},
		"weights-mismatch": {
			func(r *Request) { r.Scenario.Model = wrong },
			func(r *Request) { r.Scenario.Model = right },
		},
		"no-generator": {
			func(r *Request) { r.Scenario.Model = embeds },
			func(r *Request) { r.Scenario.Model = right },
		},
		"block-size": {
			func(r *Request) { r.Scenario.Model = "qwen3.5-27b" },
			nil,
		},
		"fp8-hybrid": {
			func(r *Request) { r.Scenario.Model, r.KVDType = "qwen3.5-27b", "fp8" },
			func(r *Request) { r.Scenario.Model = "qwen3.5-27b" },
		},
		"speculation": {
			func(r *Request) { r.Scenario.Model = "deepseek-v3" },
			nil,
		},
		"no-bf16": {
			func(r *Request) { r.Scenario.Accelerator, r.Scenario.Model = "t4-16gb", "llama-3.2-1b" },
			nil,
		},
		"no-fp8": {
			func(r *Request) { r.Scenario.Accelerator, r.WeightDType = "a100-sxm-80gb", "fp8" },
			func(r *Request) { r.WeightDType = "fp8" },
		},
		"no-fp8-cache": {
			func(r *Request) { r.Scenario.Accelerator, r.KVDType = "a100-sxm-80gb", "fp8" },
			func(r *Request) { r.KVDType = "fp8" },
		},
		"no-fp4": {
			func(r *Request) { r.WeightDType = "nvfp4" },
			func(r *Request) { r.Scenario.Accelerator, r.WeightDType = "b200-180gb", "nvfp4" },
		},
		"nominal-memory": {
			func(r *Request) { r.Scenario.Accelerator = "a100-pcie-80gb" },
			nil,
		},
		"near-the-edge": {
			func(r *Request) {
				r.Scenario.Model, r.Scenario.Engine, r.GPUMemoryUtilization = "qwen3-32b", "vllm@0.11", 0.87
			},
			nil,
		},
		"start-up-room": {
			func(r *Request) { r.Scenario.Model, r.GPUMemoryUtilization = "gpt-oss-20b", 0.95 },
			func(r *Request) { r.Scenario.Model, r.GPUMemoryUtilization = "gpt-oss-20b", 0.9 },
		},
		"engine-upgrade": {
			// CUDA graphs move into the budget: 1 GiB, which is much of 13 and little of 58.
			func(r *Request) { r.Scenario.Model, r.GPUMemoryUtilization = "qwen3-32b", 0.95 },
			func(r *Request) { r.GPUMemoryUtilization = 0.95 },
		},
		"rope-scaled": {
			func(r *Request) { r.Scenario.Model = config },
			func(r *Request) { r.Scenario.Model, r.MaxModelLen = config, 32_768 },
		},
		"quantization-blocks": {
			func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "qwen3-235b-a22b-fp8", 8 },
			func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "qwen3-235b-a22b-fp8", 4 },
		},
		"unknown-link": {
			func(r *Request) { r.Scenario.Accelerator, r.Scenario.Parallel.Tensor = "mi300x-192gb", 2 },
			func(r *Request) { r.Scenario.Parallel.Tensor = 2 },
		},
		"slow-link": {
			func(r *Request) { r.Scenario.Accelerator, r.Scenario.Parallel.Tensor = "l40s-48gb", 2 },
			func(r *Request) { r.Scenario.Parallel.Tensor = 2 },
		},
		"cross-node": {
			func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "llama-3.1-405b", 16 },
			func(r *Request) {
				r.Scenario.Model, r.Scenario.Parallel.Tensor, r.Scenario.Accelerator = "llama-3.1-405b", 16, "gb200"
			},
		},
		"pipeline": {
			func(r *Request) { r.Scenario.Parallel.Pipeline = 2 },
			func(r *Request) { r.Scenario.Parallel.Tensor = 2 },
		},
		"oversubscribed": {
			func(r *Request) { r.MaxNumSeqs, r.MaxModelLen = 100, 8192 },
			func(r *Request) { r.MaxNumSeqs, r.MaxModelLen = 50, 8192 },
		},
		"preemption": {
			nil,
			func(r *Request) { r.MaxNumSeqs = 256 },
		},
		"kv-bound": {
			func(r *Request) { r.KVCacheMemory, r.MaxModelLen = 8<<30, 16_384 },
			nil,
		},
		"count": {
			func(r *Request) { r.Count, r.Scenario.Parallel.Tensor = 3, 2 },
			func(r *Request) { r.Count, r.Scenario.Parallel.Tensor = 4, 2 },
		},
		"disaggregate": {
			func(r *Request) { r.Disaggregate, r.Scenario.Workload.Arrival = true, rps(0.5) },
			func(r *Request) { r.Scenario.Workload.Arrival = rps(0.5) },
		},
		"not-measured": {
			func(r *Request) { r.Scenario.Accelerator = "mi300x-192gb" },
			nil,
		},
		"tight-slo": {
			func(r *Request) { r.Scenario.SLO = []profiles.SLO{{TTFT: 280 * time.Millisecond}} },
			func(r *Request) { r.Scenario.SLO = []profiles.SLO{{TTFT: time.Second}} },
		},
		"long-prefix": {
			func(r *Request) {
				r.Scenario.Workload.Input, r.Scenario.Workload.Prefix = fixed(1000), profiles.Prefix{Groups: 1, Tokens: 5000}
			},
			func(r *Request) {
				r.Scenario.Workload.Input, r.Scenario.Workload.Prefix = fixed(1000), profiles.Prefix{Groups: 1, Tokens: 900}
			},
		},
		"autoscale": {
			func(r *Request) { r.Scenario.Workload.Arrival = rps(100) },
			func(r *Request) { r.Scenario.Workload.Arrival = rps(1) },
		},
		"engine-newer": {
			func(r *Request) { r.Scenario.Engine = "vllm@0.40" },
			func(r *Request) { r.Scenario.Engine = "vllm@0.31.2" },
		},
		"prefix-caching-off": {
			func(r *Request) { r.PrefixCaching = "off" },
			func(r *Request) { r.PrefixCaching, r.Scenario.Workload.Prefix = "off", profiles.Prefix{None: true} },
		},
		"prefix-caching-states": {
			func(r *Request) {
				r.Scenario.Model, r.Scenario.Engine, r.PrefixCaching = "qwen3.5-27b", "vllm@0.13", "on"
			},
			func(r *Request) {
				r.Scenario.Model, r.Scenario.Engine, r.PrefixCaching = "qwen3.5-27b", "vllm@0.19", "on"
			},
		},
		"whole-images": {
			func(r *Request) {
				r.Scenario.Model, r.Scenario.Accelerator, r.Scenario.Engine = "gemma-4-26b-a4b", "l40s-48gb", "vllm@0.20"
			},
			func(r *Request) {
				r.Scenario.Model, r.Scenario.Accelerator, r.Scenario.Engine = "gemma-4-26b-a4b", "l40s-48gb", "vllm@0.25"
			},
		},
		"peak-rate": {
			func(r *Request) {
				r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Ramp, ToPerS: 20, Over: time.Minute}
			},
			func(r *Request) { r.Scenario.Workload.Arrival = rps(20) },
		},
		"bursts": {
			func(r *Request) {
				r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Gamma, RatePerS: 20, CV: 2}
			},
			func(r *Request) {
				r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Gamma, RatePerS: 20, CV: 0.5}
			},
		},
		"users": {
			func(r *Request) {
				r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Users, Count: 50}
				r.Scenario.Workload.Session.Think = profiles.Delay{Kind: profiles.Fixed, Mean: 8 * time.Second}
			},
			func(r *Request) { r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Users, Count: 50} },
		},
		"trace": {
			func(r *Request) {
				r.Scenario.Workload.Trace.File, r.Recorded = "x", []workload.Session{turns(0, 100), turns(time.Minute, 100)}
			},
			func(r *Request) { r.Scenario.Workload.Input = fixed(100) },
		},
		"sessions": {
			func(r *Request) { r.Scenario.Workload.Session = sessions(3) },
			func(r *Request) { r.Scenario.Workload.Session = sessions(1) },
		},
		"session-cache": {
			func(r *Request) {
				r.Scenario.Workload.Arrival, r.Scenario.Workload.Session = rps(20), sessions(3)
				r.Scenario.Workload.Session.Think = profiles.Delay{Kind: profiles.Exponential, Mean: 10 * time.Minute}
			},
			func(r *Request) {
				r.Scenario.Workload.Arrival, r.Scenario.Workload.Session = rps(20), sessions(3)
				r.Scenario.Workload.Session.Think = profiles.Delay{Kind: profiles.Exponential, Mean: time.Second}
			},
		},
		"models": {
			func(r *Request) { r.Scenario.Workload.Models = map[string]float64{"a": 0.7, "b": 0.3} },
			func(r *Request) { r.Scenario.Workload.Models = map[string]float64{"a": 1} },
		},
		"cancelled": {
			func(r *Request) {
				r.Scenario.Workload.Cancel = profiles.Cancel{Fraction: 0.1, After: profiles.Delay{Kind: profiles.Fixed, Mean: time.Second}}
			},
			nil,
		},
		"structured-output": {
			func(r *Request) { r.Scenario.Workload.Tools = 0.5 },
			nil,
		},
		"serving-not-planned": {
			func(r *Request) { r.Scenario.Serving.Speculative = profiles.Speculative{Tokens: 4, Acceptance: 0.7} },
			func(r *Request) {
				r.Scenario.Serving = profiles.Serving{MaxNumSeqs: 64, ChunkedPrefill: "on", Policy: "fcfs", CacheSalt: "none", Batching: "continuous", KVLayout: "paged"}
			},
		},
		"cluster-not-planned": {
			func(r *Request) { r.Scenario.Cluster.Gateway.Limits.RPM = 600 },
			func(r *Request) { r.Scenario.Cluster.Replicas, r.Scenario.Cluster.Router.Policy = 2, "round_robin" },
		},
		"batch-one": {
			func(r *Request) { r.Scenario.Workload.Arrival = rps(0.1) },
			func(r *Request) { r.Scenario.Workload.Arrival = rps(10) },
		},
	}
}

// TestWarnings also finds codes in the source that no case gives.
func TestWarnings(t *testing.T) {
	cases := warningCases(t)
	for code, c := range cases {
		t.Run(code, func(t *testing.T) {
			p := mustCompute(t, scenario(c[0]))
			if !hasWarning(p, code) {
				t.Errorf("not given; there are %v, reasons %v", p.Warnings, p.Reasons)
			}
			if p := mustCompute(t, scenario(c[1])); hasWarning(p, code) {
				t.Errorf("given to the neighbour as well: %v", p.Warnings)
			}
			for _, w := range p.Warnings {
				if strings.Contains(w.Text, "\n") || strings.Contains(w.Text, "%!") || len(w.Text) < 40 {
					t.Errorf("%s says %q", w.Code, w.Text)
				}
			}
		})
	}
	for _, code := range codesInSource(t) {
		if _, ok := cases[code]; !ok {
			t.Errorf("no test gives the warning %s", code)
		}
	}
}

// codesInSource are the codes that the package can give.
func codesInSource(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`\.warn\("([a-z0-9-]+)"`).FindAllSubmatch(source, -1) {
			codes = append(codes, string(match[1]))
		}
	}
	if len(codes) < 20 {
		t.Fatalf("found %v only", codes)
	}
	return codes
}

// TestFullReplicaIsNotToldToFill: a batch of less than two is no news of a replica
// that runs at the largest rate that its objective allows.
func TestFullReplicaIsNotToldToFill(t *testing.T) {
	alone := loneTTFT(t)
	tight := []profiles.SLO{{TTFT: duration(1.03 * alone)}}
	for _, rate := range []float64{0.9, 0.79, 0.55, 0.3} {
		p := mustCompute(t, scenario(func(r *Request) { r.Scenario.SLO = tight }))
		most := p.Performance.MaxRPS
		p = mustCompute(t, scenario(func(r *Request) {
			r.Scenario.SLO, r.Count = tight, 1
			r.Scenario.Workload.Arrival = rps(most * rate)
		}))
		if p.Performance.Batch >= 2 {
			t.Fatalf("the batch is %v", p.Performance.Batch)
		}
		if got, want := hasWarning(p, "batch-one"), rate < 0.5; got != want {
			t.Errorf("at %v of the largest rate: batch-one is %v", rate, got)
		}
	}
}

// loneTTFT is the p99 of the time to first token of requests that meet no others.
func loneTTFT(t *testing.T) float64 {
	t.Helper()
	return mustCompute(t, scenario(func(r *Request) { r.Scenario.Workload.Arrival, r.Count = rps(1e-6), 1 })).Performance.TTFT.P99
}
