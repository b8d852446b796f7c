package sizing

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
)

// scenario is llama-3.1-8b on one H100 under vLLM 0.19, changed by change.
func scenario(change func(*Request)) Request {
	r := Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Accelerator: "h100-sxm-80gb", Engine: "vllm@0.19"}}
	if change != nil {
		change(&r)
	}
	return r
}

func rps(rate float64) profiles.Arrival {
	return profiles.Arrival{Process: profiles.Poisson, RatePerS: rate}
}

func mustCompute(t testing.TB, r Request) *Plan {
	t.Helper()
	p, err := Compute(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestPublicCases are situations from public trackers and logs, with the
// answers that turned out right.
func TestPublicCases(t *testing.T) {
	for _, tc := range []struct {
		name      string
		change    func(*Request)
		pool      float64 // GiB, 1% unless the tolerance says more
		tolerance float64
		tokens    float64
		warning   string
	}{
		{"8B at 0.95", func(r *Request) { r.GPUMemoryUtilization, r.MaxModelLen = 0.95, 8192 }, 58.11, 0.01, 476_016, ""},
		{"8B with an fp8 cache", func(r *Request) { r.GPUMemoryUtilization, r.KVDType = 0.95, "fp8" }, 58.11, 0.01, 952_032, ""},
		{"8B TP 2", func(r *Request) { r.GPUMemoryUtilization, r.Scenario.Parallel.Tensor = 0.95, 2 }, 63.76, 0.01, 1_044_688, ""},
		{"8B TP 4", func(r *Request) { r.GPUMemoryUtilization, r.Scenario.Parallel.Tensor = 0.95, 4 }, 67.44, 0.01, 2_209_792, ""},
		{"8B PP 4: the last stage decides", func(r *Request) {
			r.GPUMemoryUtilization, r.Scenario.Parallel.Pipeline = 0.95, 4
		}, 68.89, 0.01, 2_257_264, ""},
		{"8B in fp8", func(r *Request) { r.GPUMemoryUtilization, r.WeightDType = 0.95, "fp8" }, 64.61, 0.01, 529_248, ""},
		{"gpt-oss-20b sizes, but may not start", func(r *Request) {
			r.Scenario.Model, r.GPUMemoryUtilization, r.MaxModelLen = "gpt-oss-20b", 0.95, 8192
		}, 58.47, 0.01, 1_277_184, "start-up-room"},
		{"8B on a 4090 of 23.5 GiB", func(r *Request) { r.Scenario.Accelerator = "rtx-4090-24gb" }, 5.05, 0.08, 41_408, ""},
		{"V2-Lite: latent attention", func(r *Request) { r.Scenario.Model, r.GPUMemoryUtilization = "deepseek-v2-lite", 0.95 }, 43.61, 0.01, 1_505_552, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustCompute(t, scenario(tc.change))
			if got := float64(p.Memory.KVCacheBytes) / (1 << 30); math.Abs(got/tc.pool-1) > tc.tolerance {
				t.Errorf("pool %.2f GiB, want %.2f", got, tc.pool)
			}
			if got := float64(p.Memory.KVCacheTokens); math.Abs(got/tc.tokens-1) > tc.tolerance {
				t.Errorf("%.0f tokens, want %.0f", got, tc.tokens)
			}
			if tc.warning != "" && !hasWarning(p, tc.warning) {
				t.Errorf("no warning %s in %v", tc.warning, p.Warnings)
			}
		})
	}
}

func hasWarning(p *Plan, code string) bool {
	for _, w := range p.Warnings {
		if w.Code == code {
			return true
		}
	}
	return false
}

func TestVersionsDiffer(t *testing.T) {
	old := mustCompute(t, scenario(func(r *Request) { r.Scenario.Engine = "vllm@0.15" })).Memory
	middle := mustCompute(t, scenario(nil)).Memory
	newer := mustCompute(t, scenario(func(r *Request) { r.Scenario.Engine = "vllm@0.21" })).Memory
	if old.ActivationBytes < 2*middle.ActivationBytes {
		t.Errorf("activation before 0.17 is %d, after %d: it fell by more than half", old.ActivationBytes, middle.ActivationBytes)
	}
	if newer.KVCacheBytes != middle.KVCacheBytes-newer.CUDAGraphBytes {
		t.Errorf("0.21 takes the CUDA graphs from the budget: %d, %d", newer.KVCacheBytes, middle.KVCacheBytes)
	}
}

func TestBlocksFollowTheirSize(t *testing.T) {
	given := func(size int) Memory {
		return mustCompute(t, scenario(func(r *Request) {
			r.KVCacheMemory, r.BlockSize, r.MaxModelLen = 17_600*16*131_072, size, 8192
		})).Memory
	}
	if a, b := given(16), given(64); a.KVCacheBlocks != 17_600 || b.KVCacheBlocks != 4_400 {
		t.Errorf("%d blocks of 16 and %d of 64, want 17,600 and 4,400", a.KVCacheBlocks, b.KVCacheBlocks)
	}
}

func TestInfeasible(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Request)
		want   []string
	}{
		{"405B on one H100", func(r *Request) { r.Scenario.Model = "llama-3.1-405b" },
			[]string{"the weights take 756 GiB", "are missing", "--tp 16"}},
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

func TestDefaultObjectiveDoesNotFail(t *testing.T) {
	p := mustCompute(t, scenario(func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "llama-3.1-70b", 4 }))
	if !p.Feasible || !hasWarning(p, "default-slo") {
		t.Errorf("feasible %v, warnings %v", p.Feasible, p.Warnings)
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
		{"TP 3 of 32 heads", func(r *Request) { r.Scenario.Parallel.Tensor = 3 }, "--tp 3 does not divide the 32 attention heads (num_attention_heads) and the 8 KV heads (num_key_value_heads; nor is it a multiple of them)"},
		{"TP 5 of 40 heads", func(r *Request) { r.Scenario.Model, r.Scenario.Parallel.Tensor = "qwen3-14b", 5 }, "--tp 5 does not divide the 8 KV heads (num_key_value_heads; nor is it a multiple of them) and the MLP width 17408 (intermediate_size) and the padded vocabulary 151936 (vocab_size) of qwen3-14b; possible: 1, 2, 4, 8"},
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

// TestHeadline answers the question of the system-design article: 200 requests
// a second of chat. Measured: TensorRT-LLM serves 12.5 requests/s of 1,024 in
// and 512 out on one H100 when it is always busy, so that 200 need 16; a bound on
// the first token of one request in a hundred needs more.
func TestHeadline(t *testing.T) {
	p := mustCompute(t, Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{Arrival: rps(200)}}})
	if !p.Feasible || p.Fleet.Replicas < 16 || p.Fleet.Replicas > 40 || p.Fleet.Accelerators != p.Fleet.Replicas {
		t.Fatalf("%+v %v", p.Fleet, p.Reasons)
	}
	if p.Model.KVBytesPerToken != 131_072 || p.Inputs.PrefixHitRate < 0.35 || p.Inputs.PrefixHitRate > 0.55 {
		t.Errorf("%+v %+v", p.Model, p.Inputs)
	}
	if p.Fleet.Utilization > p.Inputs.TargetUtilization {
		t.Errorf("utilization %v is above the target %v", p.Fleet.Utilization, p.Inputs.TargetUtilization)
	}
	if want := float64(p.Fleet.Replicas) * 4.50; math.Abs(p.Fleet.USDPerHour-want) > 1e-9 {
		t.Errorf("%v $/h, want %v", p.Fleet.USDPerHour, want)
	}
	for _, a := range p.Assumptions {
		if !strings.HasPrefix(a.Flag, "--") || a.Value == "" {
			t.Errorf("assumption without flag or value: %+v", a)
		}
	}
}

// TestEachClassHasItsAttainment: a loose share of one class does not become the
// strict share of another.
func TestEachClassHasItsAttainment(t *testing.T) {
	plan := func(slos ...string) *Plan {
		return mustCompute(t, scenario(func(r *Request) {
			for _, text := range slos {
				slo, err := profiles.ParseSLO(text)
				if err != nil {
					t.Fatal(err)
				}
				r.Scenario.SLO = append(r.Scenario.SLO, slo)
			}
		}))
	}
	chat := plan("chat:ttft=500ms").Performance.MaxRPS
	both := plan("chat:ttft=500ms", "batch:tpot=30ms,attainment=0.5").Performance.MaxRPS
	strict := plan("chat:ttft=500ms", "batch:tpot=9ms,attainment=0.5").Performance.MaxRPS
	all := plan("ttft=500ms,tpot=9ms").Performance.MaxRPS
	if both != chat || !(all < strict && strict < chat) {
		t.Errorf("%v with a class that is easy to serve, %v alone; %v with half of another in 9 ms, %v with all", both, chat, strict, all)
	}
}

func TestPrefixHitRate(t *testing.T) {
	half := profiles.Workload{
		Input: profiles.Distribution{Kind: profiles.Fixed, Mean: 1504}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 100},
		Prefix: profiles.Prefix{Groups: 8, Tokens: 752},
	}
	p := mustCompute(t, scenario(func(r *Request) { r.Scenario.Workload = half }))
	if got := p.Inputs.PrefixHitRate; math.Abs(got-0.5) > 1e-6 {
		t.Errorf("hit rate %v, want 0.5", got)
	}
	none := mustCompute(t, scenario(func(r *Request) { r.Scenario.Workload = half; r.Scenario.Workload.Prefix = profiles.Prefix{} }))
	if none.Inputs.PrefixHitRate != 0 || none.Performance.MaxRPS >= p.Performance.MaxRPS {
		t.Errorf("without sharing: hit rate %v, %v against %v requests/s", none.Inputs.PrefixHitRate, none.Performance.MaxRPS, p.Performance.MaxRPS)
	}
	many := mustCompute(t, scenario(func(r *Request) { r.Scenario.Workload = half; r.Scenario.Workload.Prefix.Groups = 100_000 }))
	if many.Inputs.PrefixHitRate > 0.05 {
		t.Errorf("100,000 prefixes do not stay cached, hit rate %v", many.Inputs.PrefixHitRate)
	}
}

func TestConcurrency(t *testing.T) {
	closed := func(n int) *Plan {
		return mustCompute(t, scenario(func(r *Request) {
			r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Closed, Concurrency: n}
		}))
	}
	few, many := closed(8), closed(2000)
	if few.Fleet.Replicas != 1 || many.Fleet.Replicas < 10 {
		t.Errorf("%d replicas for 8 in flight, %d for 2,000", few.Fleet.Replicas, many.Fleet.Replicas)
	}
	// Little's law holds for what was planned.
	inFlight := few.Performance.RPS * few.Performance.E2E.Mean
	if math.Abs(inFlight-8) > 0.05 {
		t.Errorf("%v in flight, want 8", inFlight)
	}
}

func TestJSONHasTheContractsKeys(t *testing.T) {
	p := mustCompute(t, Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{Arrival: rps(200)}}})
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	for section, keys := range map[string]string{
		"":            "schema feasible inputs model memory performance plan derivation warnings assumptions",
		"inputs":      "model accelerator engine tensor_parallel pipeline_parallel weight_dtype kv_dtype rps input_tokens output_tokens prefix_hit_rate gpu_memory_utilization block_size max_model_len max_num_seqs slo target_utilization usd_per_accelerator_hour price_date",
		"model":       "parameters active_parameters kv_bytes_per_token",
		"memory":      "weights_bytes activation_bytes non_torch_bytes cuda_graph_bytes kv_cache_bytes kv_cache_blocks kv_cache_tokens max_concurrency",
		"performance": "ttft_s tpot_s e2e_s batch prefill_tokens_per_s output_tokens_per_s max_rps bound error",
		"plan":        "replicas accelerators utilization usd_per_hour usd_per_1m_input_tokens usd_per_1m_output_tokens usd_per_1m_total_tokens",
	} {
		object := got
		if section != "" {
			object = got[section].(map[string]any)
		}
		for key := range strings.FieldsSeq(keys) {
			if _, ok := object[key]; !ok {
				t.Errorf("%s.%s is missing", section, key)
			}
		}
	}
	for _, d := range p.Derivation {
		if d.Name == "" || d.Formula == "" || d.Source == "" || math.IsNaN(d.Value) {
			t.Errorf("derivation %+v", d)
		}
	}
}

// TestMoreMemoryIsNeverWorse draws situations at random.
func TestMoreMemoryIsNeverWorse(t *testing.T) {
	models := []string{"llama-3.1-8b", "gemma-3-27b", "deepseek-v2-lite", "gpt-oss-20b", "qwen3-0.6b", "mistral-7b-v0.1"}
	rapid.Check(t, func(t *rapid.T) {
		r := scenario(func(r *Request) {
			r.Scenario.Model = rapid.SampledFrom(models).Draw(t, "model")
			r.MaxModelLen = rapid.IntRange(1300, 4096).Draw(t, "length")
			r.Scenario.Workload.Arrival = rps(rapid.Float64Range(0.1, 500).Draw(t, "rate"))
			r.KVCacheMemory = rapid.Int64Range(1<<28, 1<<35).Draw(t, "pool")
		})
		small, err := Compute(r)
		if err != nil {
			t.Fatal(err)
		}
		r.KVCacheMemory += rapid.Int64Range(1, 1<<35).Draw(t, "more")
		large, err := Compute(r)
		if err != nil {
			t.Fatal(err)
		}
		if large.Memory.KVCacheBlocks < small.Memory.KVCacheBlocks || large.Memory.MaxConcurrency < small.Memory.MaxConcurrency || large.Memory.MixSequences < small.Memory.MixSequences {
			t.Fatalf("more memory holds less: %+v, %+v", small.Memory, large.Memory)
		}
		if small.Feasible && !large.Feasible {
			t.Fatalf("more memory made it infeasible: %v", large.Reasons)
		}
		if small.Feasible && large.Performance.MaxRPS < small.Performance.MaxRPS*(1-3e-3) { // of more places, a larger share is others'
			t.Fatalf("more memory serves less: %v, %v", small.Performance.MaxRPS, large.Performance.MaxRPS)
		}
		if small.Feasible && large.Fleet.Replicas > small.Fleet.Replicas {
			t.Fatalf("more memory needs more replicas: %d, %d", small.Fleet.Replicas, large.Fleet.Replicas)
		}
	})
}

// TestLatenciesGrowWithLoad checks the shape that the search for the largest
// rate relies on.
func TestLatenciesGrowWithLoad(t *testing.T) {
	for _, model := range []string{"llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-27b"} {
		s, err := resolve(scenario(func(r *Request) { r.Scenario.Model = model }))
		if err != nil {
			t.Fatal(err)
		}
		l, err := s.newLayout()
		if err != nil {
			t.Fatal(err)
		}
		m := s.plannedMemory(l)
		m.fill(s, l)
		x := s.warmMix(m, l)
		m.MixSequences = mixSequences(m, l, x)
		r := s.newReplica(m, x)
		last := make([]float64, 4)
		for rate := 0.01; r.at(rate).stable; rate *= 1.2 {
			st := r.at(rate)
			now := []float64{st.ttft(), st.ttftQuantile(0.99), st.tpotQuantile(r, 0.99), st.latency(r).quantile(0.99)}
			for i, v := range now {
				if v < last[i]*(1-1e-6) {
					t.Errorf("%s at %v/s: time %d fell from %v to %v", model, rate, i, last[i], v)
				}
			}
			if now[1] < now[0] {
				t.Errorf("%s at %v/s: p99 TTFT %v is below the mean %v", model, rate, now[1], now[0])
			}
			last = now
		}
		if last[0] == 0 {
			t.Errorf("%s was never stable", model)
		}
	}
}

func BenchmarkCompute(b *testing.B) {
	r := Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{Arrival: rps(200)}}}
	for b.Loop() {
		mustCompute(b, r)
	}
}

// TestQuickRate compares the quick search with the full one.
func TestQuickRate(t *testing.T) {
	for _, tc := range queueCases {
		e := newEvents(t, scenario(tc.change))
		full, bound := e.situation.limits.maxRate(e.replica)
		quick, why := e.replica.quickRate(e.situation.limits)
		if math.Abs(quick/full-1) > 0.03 || why != bound {
			t.Errorf("%s: %v/s by %s, the full search gives %v/s by %s", tc.name, quick, why, full, bound)
		}
	}
}

func BenchmarkQuickRate(b *testing.B) {
	e := newEvents(b, scenario(nil))
	for b.Loop() {
		e.replica.quickRate(e.situation.limits)
	}
}

func BenchmarkComputeE2E(b *testing.B) {
	slo, err := profiles.ParseSLO("e2e=12s")
	if err != nil {
		b.Fatal(err)
	}
	r := Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b", Workload: profiles.Workload{Arrival: rps(200)}, SLO: []profiles.SLO{slo}}}
	for b.Loop() {
		mustCompute(b, r)
	}
}
