package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/internal/iostreams"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

// sized runs a command line of size and returns its plan and exit code.
func sized(t *testing.T, args []string) (sizing.Plan, int) {
	t.Helper()
	var out, errs bytes.Buffer
	s := &iostreams.IO{Out: &out, Err: &errs, Width: 80, Env: func(string) string { return "" }}
	code := run(s, append(args[1:], "-o", "json"))
	var p sizing.Plan
	if err := json.Unmarshal(out.Bytes(), &p); err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return p, code
}

// TestRequestIsItsCommandLine: what Args writes, the command line reads back as
// the same plan.
func TestRequestIsItsCommandLine(t *testing.T) {
	for name, r := range map[string]sizing.Request{
		"a model": {Scenario: profiles.Scenario{Model: "llama-3.1-8b"}},
		"all of it": {
			Scenario: profiles.Scenario{
				Model: "meta-llama/Llama-3.1-70B", Accelerator: "h200-sxm-141gb", Engine: "vllm@0.19",
				Parallel: profiles.Parallel{Tensor: 4, Pipeline: 2},
				Workload: profiles.Workload{
					Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 12.5},
					Input:   profiles.Distribution{Kind: profiles.Lognormal, Mean: 900, P99: 3000},
					Output:  profiles.Distribution{Kind: profiles.Uniform, Min: 10, Max: 400},
					Prefix:  profiles.Prefix{Groups: 4, Tokens: 256},
				},
				SLO:   []profiles.SLO{{TTFT: 800 * time.Millisecond, TPOT: 60 * time.Millisecond, Attainment: 0.95}},
				Price: profiles.Price{USDPerAcceleratorHour: 3.21},
			},
			WeightDType: "fp8", KVDType: "fp8", GPUMemoryUtilization: 0.87, BlockSize: 32, MaxModelLen: 9000,
			MaxNumSeqs: 200, MaxNumBatchedTokens: 4096, TargetUtilization: 0.7,
		},
		"given pool, in flight": {
			Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{
				Arrival: profiles.Arrival{Process: profiles.Closed, Concurrency: 40},
				Prefix:  profiles.Prefix{None: true}, Input: profiles.Distribution{Kind: profiles.Fixed, Mean: 100},
			}},
			KVCacheMemory: 1<<33 + 1,
		},
		"sessions of users": {
			Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{
				Arrival: profiles.Arrival{Process: profiles.Users, Count: 30, RampUp: time.Minute}, Input: profiles.Distribution{Kind: profiles.Fixed, Mean: 300},
				Session: profiles.Session{
					Turns: profiles.Distribution{Kind: profiles.Geometric, Mean: 3},
					Think: profiles.Delay{Kind: profiles.Exponential, Mean: 8 * time.Second},
				},
			}},
		},
		"a rate that changes": {
			Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{
				Arrival: profiles.Arrival{Process: profiles.Steps, CV: 1, Curve: &profiles.Curve{Steps: []profiles.Step{{RatePerS: 2, For: time.Minute}, {RatePerS: 9}}}},
				Input:   profiles.Distribution{Kind: profiles.Empirical, Samples: &profiles.Samples{Values: []float64{10, 2000}}},
				Output:  profiles.Distribution{Kind: profiles.Zipf, Exponent: 1.1, Min: 5, Max: 500},
			}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := sizing.Compute(r)
			if err != nil {
				t.Fatal(err)
			}
			got, _ := sized(t, r.Args())
			if diff := cmp.Diff(want.Inputs, got.Inputs); diff != "" {
				t.Errorf("%v: %s", r.Args(), diff)
			}
		})
	}
}

func TestNamedWorkloadStaysNamed(t *testing.T) {
	rag, err := profiles.LoadWorkload("rag")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(sizing.Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: *rag}}.Args(), " ")
	if !strings.HasSuffix(got, "--workload rag") {
		t.Error(got)
	}
}

// TestAlternativesHold runs the commands that a refusal offers.
func TestAlternativesHold(t *testing.T) {
	for _, line := range []string{
		"llmctl size --model llama-3.1-405b --rps 3",
		"llmctl size --model deepseek-v3 --rps 10",
		"llmctl size --model llama-3.1-8b --slo ttft=1ms",
		"llmctl size --model qwen3-8b --weight-dtype awq --accelerator l4-24gb --accelerator-memory 8GiB --max-model-len 4096",
		"llmctl size --model qwen3-8b --accelerator l4-24gb --accelerator-memory 9.37GiB --max-model-len 8192",
		"llmctl size --model llama-3.1-8b --slo tpot=5ms",
		"llmctl size --model llama-3.1-8b --slo ttft=130ms,tpot=5ms",
		"llmctl size --model llama-3.1-8b --max-model-len 16384 --kv-cache-memory 1GiB",
		"llmctl size --model llama-3.3-70b --tp 2 --accelerator l40s-48gb",
		"llmctl size --model qwen3-8b --accelerator l4-24gb --max-model-len 40960 --engine vllm@0.19",
		"llmctl size --model gpt-oss-120b --accelerator a100-sxm-40gb",
	} {
		p, code := sized(t, strings.Fields(line))
		if p.Feasible || code != exitNotHeld || len(p.Alternatives) == 0 {
			t.Errorf("%s: feasible %v, exit code %d, alternatives %v, reasons %v", line, p.Feasible, code, p.Alternatives, p.Reasons)
			continue
		}
		for _, a := range p.Alternatives {
			if better, code := sized(t, strings.Fields(a.Command)); !better.Feasible || code != 0 {
				t.Errorf("%s offers %s, which is not feasible: %v", line, a.Command, better.Reasons)
			}
			if !strings.Contains(strings.Join(p.Reasons, "\n"), a.Change) {
				t.Errorf("%s: the reasons do not name %s", line, a.Change)
			}
		}
	}
}
