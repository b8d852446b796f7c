package sizing

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

func TestInfeasible(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Request)
		want   []string
	}{
		{"405B on one H100", func(r *Request) { r.Scenario.Model = "llama-3.1-405b" },
			[]string{"the weights take 756 GiB", "are missing", "--tp 8 --pp 2"}},
		{"one request too long", func(r *Request) {
			r.KVCacheMemory, r.MaxModelLen = 1<<30, 16_384
		}, []string{"one request of max_model_len 16384 needs 2 GiB", "1 GiB are missing", "the longest that fits is 8192 tokens"}},
		{"objective below a lone request", func(r *Request) { r.Scenario.SLO = []profiles.SLO{{TPOT: time.Millisecond}} },
			[]string{"a lone request already breaks the TPOT objective", "against 1 ms", "roofline limit"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustCompute(t, scenario(tc.change))
			text := strings.Join(p.Reasons, "\n")
			if p.Feasible || p.Fleet != nil {
				t.Fatalf("feasible: %+v", p.Fleet)
			}
			for _, want := range tc.want {
				if !strings.Contains(text, want) {
					t.Errorf("reasons do not say %q:\n%s", want, text)
				}
			}
		})
	}
}

func TestBadInput(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Request)
		want   string
	}{
		{"no model", func(r *Request) { r.Scenario.Model = "" }, "--model is missing"},
		{"unknown model", func(r *Request) { r.Scenario.Model = "lama-3.1-8b" }, `did you mean "llama-3.1-8b"?`},
		{"unknown accelerator", func(r *Request) { r.Scenario.Accelerator = "h100-smx-80gb" }, `did you mean "h100-sxm-80gb"?`},
		{"accelerator without a rate", func(r *Request) { r.Scenario.Accelerator = "testdata/no-rate.yaml" }, "no bf16 rate"},
		{"unknown engine", func(r *Request) { r.Scenario.Engine = "vlm" }, `did you mean "vllm"?`},
		{"TP 3 of 32 heads", func(r *Request) { r.Scenario.Parallel.Tensor = 3 },
			"--tp 3 does not divide the 32 attention heads (num_attention_heads) and the 8 KV heads (num_key_value_heads; nor is it a multiple of them)"},
		{"TP 5 of 40 heads", func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "qwen3-14b", 5 },
			"--tp 5 does not divide the 8 KV heads (num_key_value_heads; nor is it a multiple of them) and " +
				"the MLP width 17408 (intermediate_size) and the padded vocabulary 151936 (vocab_size) of qwen3-14b; possible: 1, 2, 4, 8"},
		{"PP beyond the layers", func(r *Request) { r.Scenario.Parallel.Pipeline = 33 }, "--pp 33 is outside 1 to the 32 layers"},
		{"negative rate", func(r *Request) { r.Scenario.Workload.Arrival.RatePerS = -1 }, "rate -1/s is outside"},
		{"utilization", func(r *Request) { r.GPUMemoryUtilization = 1.2 }, "--gpu-memory-utilization 1.2 is outside 0 to 1"},
		{"NaN", func(r *Request) { r.TargetUtilization = math.NaN() }, "--target-utilization NaN"},
		{"length", func(r *Request) { r.MaxModelLen = 200_000 }, "--max-model-len 200000 is above the 131072 positions"},
		{"weights", func(r *Request) { r.WeightDType = "fp9" }, `--weight-dtype: unknown weight format "fp9"`},
		{"cache", func(r *Request) { r.KVDType = "bf61" }, `--kv-dtype: unknown KV dtype "bf61"`},
		{"price", func(r *Request) { r.Scenario.Price.USDPerAcceleratorHour = -1 }, "--price -1"},
		{"block size", func(r *Request) { r.BlockSize = -16 }, "--block-size -16"},
		{"count below a replica", func(r *Request) { r.Count, r.Scenario.Parallel.Tensor = 1, 2 }, "--count 1 is fewer than the 2 accelerators"},
		{"spare replicas", func(r *Request) { r.Count, r.Spare = 2, 2 }, "--spare 2 leaves none of the 2 replicas"},
		{"negative spare", func(r *Request) { r.Spare = -1 }, "--spare -1"},
		{"bandwidth without pools", func(r *Request) { r.TransferBandwidth = 1 }, "add --disaggregate"},
		{"bandwidth", func(r *Request) { r.Disaggregate, r.TransferBandwidth = true, math.NaN() }, "--transfer-bandwidth NaN"},
		{"pools of a count", func(r *Request) { r.Disaggregate, r.Count = true, 4 }, "does not divide --count 4"},
		{"SLO", func(r *Request) { r.Scenario.SLO = []profiles.SLO{{}} }, "--slo: no bound given"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Compute(scenario(tc.change))
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want one line with %q", err, tc.want)
			}
		})
	}
}
