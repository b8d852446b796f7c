package sizing

import (
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// TestAlternatives states which changes are offered, the cheapest first.
func TestAlternatives(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Request)
		want   []string
	}{
		{"too long", func(r *Request) { r.KVCacheMemory, r.MaxModelLen = 1<<30, 16_384 },
			[]string{"--kv-cache-memory 2GiB", "--max-model-len 8192", "--kv-dtype fp8", "--tp 2"}},
		{"too large", func(r *Request) { r.Scenario.Model = "llama-3.1-405b" },
			[]string{"--weight-dtype fp8 --tp 8", "--accelerator b200-180gb --tp 8", "--tp 8 --pp 2"}},
		{"the sampler's buffers take the cache", func(r *Request) {
			r.Scenario.Model, r.Scenario.Accelerator, r.MaxModelLen, r.MaxNumSeqs = "llama-3.1-8b", "rtx-4090-24gb", 32_768, 1024
		}, []string{"--max-num-seqs 256", "--kv-dtype fp8"}},
		{"already quantized", func(r *Request) { r.Scenario.Model, r.Scenario.Workload.Arrival = "deepseek-v3", rps(10) },
			[]string{"--accelerator b200-180gb --tp 8", "--tp 8 --pp 2"}},
		{"without a price", func(r *Request) { r.Scenario.Accelerator = "t4-16gb" }, []string{"--weight-dtype int8", "--tp 2", "--accelerator a100-sxm-80gb"}},
		{"a small card", func(r *Request) {
			r.Scenario.Model, r.WeightDType, r.Scenario.Accelerator, r.AcceleratorMemory, r.MaxModelLen = "qwen3-8b", "awq", "l4-24gb", 7<<30, 4096
			r.Scenario.Engine = "vllm@0.27"
		}, []string{"--max-num-seqs 4 --max-num-batched-tokens 512 --kv-dtype fp8", "--tp 2"}},
		{"a little more memory", func(r *Request) {
			r.Scenario.Model, r.Scenario.Accelerator, r.WeightDType = "llama-3.3-70b", "a40-48gb", "int4"
		},
			[]string{"--max-num-seqs", "--tp 2"}},
		{"too slow", func(r *Request) { r.Scenario.SLO = []profiles.SLO{{TPOT: 5 * time.Millisecond}} },
			[]string{"--weight-dtype fp8", "--accelerator h200-sxm-141gb", "--tp 2"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustCompute(t, scenario(tc.change))
			var got []string
			for _, a := range p.Alternatives {
				got = append(got, a.Change)
			}
			// What is wanted comes in this order; other changes may stand between.
			at := 0
			for _, change := range got {
				if at < len(tc.want) && strings.HasPrefix(change, tc.want[at]) {
					at++
				}
				if strings.Contains(change, "--tp 16") {
					t.Errorf("%s leaves the link domain", change)
				}
			}
			if p.Feasible || at < len(tc.want) {
				t.Errorf("feasible %v, offered %q, want %q\n%s", p.Feasible, got, tc.want, strings.Join(p.Reasons, "\n"))
			}
		})
	}
}

func TestNothingHelps(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Request)
		want   []string
	}{
		"below the fixed cost of a step": {func(r *Request) { r.Scenario.SLO = []profiles.SLO{{TPOT: time.Millisecond}} },
			[]string{"nothing that was tried meets the objective; the nearest is --", "TPOT p99 is", "fixed cost per layer"}},
		"prompts take longer": {func(r *Request) { r.Scenario.SLO = []profiles.SLO{{TTFT: 5 * time.Millisecond}} },
			[]string{"TTFT objective", "against 5 ms", "most of it compute", "the nearest is"}},
		"a trillion on small cards": {func(r *Request) {
			r.Scenario.Model, r.Scenario.Accelerator, r.MaxModelLen = "kimi-k2", "t4-16gb", 4096
			r.Count = 2
		}, []string{"are missing", "nothing that was tried helps"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustCompute(t, scenario(tc.change))
			text := strings.Join(p.Reasons, "\n")
			// Of an objective that nothing meets, the nearest is offered with one that it does.
			for _, a := range p.Alternatives {
				if len(p.Alternatives) > 1 || !strings.Contains(a.Change, "--slo t") {
					t.Errorf("offered %v", p.Alternatives)
				}
			}
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("reasons do not say %q:\n%s", want, text)
				}
			}
		})
	}
}
