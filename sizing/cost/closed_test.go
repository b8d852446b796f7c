package cost

import (
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// TestClosedLoopOfOne works out a lone client by hand: it has each step for
// itself, and its prompt takes one step of its own.
func TestClosedLoopOfOne(t *testing.T) {
	f := facts(t, "llama-3.1-8b", profiles.Quantization{}, 1)
	a := device(t, "h100-sxm-80gb")
	c := ConstantsFor(engine(t, "vllm"), a, f)
	got := ClosedLoop(f, a, c, ClosedLoad{Concurrency: 1, Input: 1000, Output: 200})
	step := StepTime(f, a, c, Batch{Decode: []Decode{{1, 1100}}}).Seconds
	if math.Abs(got.TPOT/step-1) > 0.04 || got.Batch > 1 || got.Batch < 0.9 {
		t.Errorf("TPOT %v of batch %v, want about %v of almost 1", got.TPOT, got.Batch, step)
	}
	prompt := StepTime(f, a, c, Batch{Prefill: []Prefill{{Tokens: 1000, Final: true}}}).Seconds
	if first := got.TTFT - c.RequestS; first < prompt || first > prompt+2*step {
		t.Errorf("TTFT %v, want %v and a part of a step", got.TTFT, prompt)
	}
	if want := 1 / (got.TTFT + 199*got.TPOT); math.Abs(got.Rate/want-1) > 1e-9 {
		t.Errorf("rate %v, want %v", got.Rate, want)
	}
}

// TestKnee is the published shape of a saturated server (NVIDIA NIM, Llama 3.3
// 70B on two H100): beyond the slots the rate stands still, the time per token
// too, and each further client waits.
func TestKnee(t *testing.T) {
	fp8, err := profiles.ParseWeightFormat("fp8")
	if err != nil {
		t.Fatal(err)
	}
	m, err := profiles.LoadModel("llama-3.3-70b")
	if err != nil {
		t.Fatal(err)
	}
	f := NewFacts(m, shape.Format{Base: shape.BF16, Quantization: fp8}, shape.FP8, Parallel{Tensor: 2})
	a := device(t, "h100-sxm-80gb")
	c := ConstantsFor(engine(t, "tensorrt-llm"), a, f)
	at := func(clients float64) Loop {
		return ClosedLoop(f, a, c, ClosedLoad{Concurrency: clients, Input: 5000, Output: 500, Slots: 85, BatchedTokens: 8192})
	}
	below, knee, above, far := at(50), at(85), at(150), at(250)
	if knee.Rate <= below.Rate || above.Rate != knee.Rate || far.TPOT != above.TPOT {
		t.Errorf("rates %v, %v, %v; TPOT %v, %v", below.Rate, knee.Rate, above.Rate, above.TPOT, far.TPOT)
	}
	if got, want := far.TTFT-above.TTFT, 100/far.Rate; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("100 more clients wait %v longer, want %v", got, want)
	}
	// 34.8 s at 150 and 88.6 s at 250 were measured, 92.9 ms per token.
	if tokens := far.Rate * 500; math.Abs(tokens/920-1) > 0.25 {
		t.Errorf("%v tokens/s, measured 920", tokens)
	}
}

// TestTokenBudget: a step takes no more than 8,192 tokens, so that more clients
// than fill it with their prompts wait. TPOT is that of full steps.
func TestTokenBudget(t *testing.T) {
	f := facts(t, "llama-3.1-8b", profiles.Quantization{}, 1)
	a := device(t, "h200-sxm-141gb")
	c := ConstantsFor(engine(t, "vllm"), a, f)
	for _, tc := range []struct{ input, output, clients float64 }{{4096, 16, 64}, {16_384, 16, 64}, {2000, 64, 300}} {
		at := func(clients float64) Loop {
			return ClosedLoop(f, a, c, ClosedLoad{Concurrency: clients, Input: tc.input, Output: tc.output, BatchedTokens: 8192})
		}
		some, more := at(tc.clients), at(2*tc.clients)
		perStep := 8192 / (tc.input + tc.output - 1)
		full := some.Decode.Seconds + perStep*some.Work
		if got := some.Rate * full / perStep; math.Abs(got-1) > 1e-9 {
			t.Errorf("%v: %v of the token budget is used", tc, got)
		}
		if some.TPOT > full || some.TPOT < 0.95*full || math.Abs(more.TPOT/some.TPOT-1) > 0.02 || math.Abs(more.Rate/some.Rate-1) > 0.02 {
			t.Errorf("%v: steps of %v, TPOT %v; with twice the clients TPOT %v, rates %v and %v", tc, full, some.TPOT, more.TPOT, some.Rate, more.Rate)
		}
		if got, want := more.TTFT+(tc.output-1)*more.TPOT, 2*tc.clients/more.Rate; math.Abs(got/want-1) > 1e-9 {
			t.Errorf("%v: a request takes %v, want %v by Little's law", tc, got, want)
		}
	}
}

// TestClosedLoopIsMonotone: more clients never answer less, nor a token sooner.
func TestClosedLoopIsMonotone(t *testing.T) {
	a, e := device(t, "h200-sxm-141gb"), engine(t, "vllm")
	all := []Facts{
		facts(t, "llama-3.1-8b", profiles.Quantization{}, 1), facts(t, "qwen3-30b-a3b", profiles.Quantization{}, 2),
		facts(t, "deepseek-r1", profiles.Quantization{}, 8), facts(t, "deepseek-v3.2", profiles.Quantization{}, 8),
		facts(t, "llama-4-scout", profiles.Quantization{}, 4),
	}
	rapid.Check(t, func(t *rapid.T) {
		f := all[rapid.IntRange(0, len(all)-1).Draw(t, "model")]
		c := ConstantsFor(e, a, f)
		l := ClosedLoad{
			Concurrency: rapid.Float64Range(1, 500).Draw(t, "clients"), Input: rapid.Float64Range(2, 16_384).Draw(t, "input"),
			Output: rapid.Float64Range(2, 4096).Draw(t, "output"), Slots: rapid.Float64Range(0, 512).Draw(t, "slots"),
			BatchedTokens: float64(rapid.SampledFrom([]int{0, 2048, 8192}).Draw(t, "budget")),
		}
		l.Cached = rapid.Float64Range(0, l.Input-1).Draw(t, "cached")
		few := ClosedLoop(f, a, c, l)
		l.Concurrency *= rapid.Float64Range(1.1, 4).Draw(t, "more")
		many := ClosedLoop(f, a, c, l)
		for _, v := range []float64{few.TPOT, few.TTFT, few.Rate, few.Batch, many.TPOT} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Fatalf("%+v, %+v", few, many)
			}
		}
		if many.Rate < few.Rate*0.98 || many.TPOT < few.TPOT*0.98 || many.TTFT < few.TTFT*0.98 {
			t.Fatalf("more clients were served less: %+v, %+v", few, many)
		}
	})
}

// TestDataParallelSharesExperts: two data ranks halve the cache and the experts
// that one reads, not the attention weights, and pay for the exchange.
func TestDataParallelSharesExperts(t *testing.T) {
	m, err := profiles.LoadModel("qwen3-30b-a3b")
	if err != nil {
		t.Fatal(err)
	}
	a := device(t, "h100-sxm-80gb")
	one, two := NewFacts(m, shape.FormatOf(m), shape.BF16, Parallel{}), NewFacts(m, shape.FormatOf(m), shape.BF16, Parallel{Data: 2, Expert: 2})
	if one.SharedBytes != two.SharedBytes || one.ExpertBytes != 2*two.ExpertBytes {
		t.Errorf("shared %v and %v, experts %v and %v", one.SharedBytes, two.SharedBytes, one.ExpertBytes, two.ExpertBytes)
	}
	c := ConstantsFor(engine(t, "vllm"), a, one)
	batch := Batch{Decode: []Decode{{64, 2000}}}
	single, pair := StepTime(one, a, c, batch), StepTime(two, a, c, batch)
	if pair.Memory >= single.Memory || pair.Exchanges == 0 || single.Exchanges != 0 {
		t.Errorf("%+v, %+v", single, pair)
	}
}

func TestStepTimeDoesNotAllocate(t *testing.T) {
	f := facts(t, "deepseek-r1", profiles.Quantization{}, 8)
	a := device(t, "h200-sxm-141gb")
	c := ConstantsFor(engine(t, "vllm"), a, f)
	batch := Batch{Prefill: []Prefill{{Tokens: 512}}, Decode: []Decode{{16, 1000}}}
	if n := testing.AllocsPerRun(100, func() { StepTime(f, a, c, batch) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	load := ClosedLoad{Concurrency: 64, Input: 1024, Output: 256, Slots: 50, BatchedTokens: 8192}
	if n := testing.AllocsPerRun(100, func() { ClosedLoop(f, a, c, load) }); n != 0 {
		t.Errorf("%v allocations of a closed loop", n)
	}
}

// TestBurst: a run of one round whose clients start together has first tokens
// half way through all of their prompts, ten rounds a tenth of that more than none.
func TestBurst(t *testing.T) {
	f := facts(t, "llama-3.1-8b", profiles.Quantization{}, 1)
	a := device(t, "h100-sxm-80gb")
	c := ConstantsFor(engine(t, "vllm"), a, f)
	at := func(rounds float64) Loop {
		return ClosedLoop(f, a, c, ClosedLoad{Concurrency: 64, Input: 1024, Output: 256, BatchedTokens: 8192, Rounds: rounds})
	}
	full := StepTime(f, a, c, Batch{Prefill: slices.Repeat([]Prefill{{Tokens: 1024, Final: true}}, 8)}).Seconds
	none, one, ten := at(0), at(1), at(10)
	if want := 4.5*full + c.RequestS; math.Abs(one.TTFT/want-1) > 1e-9 {
		t.Errorf("one round: %v, want %v", one.TTFT, want)
	}
	if want := none.TTFT + (one.TTFT-none.TTFT)/10; math.Abs(ten.TTFT/want-1) > 1e-9 {
		t.Errorf("ten rounds: %v, want %v", ten.TTFT, want)
	}
	if one.TPOT != none.TPOT {
		t.Errorf("the start moves TPOT from %v to %v", none.TPOT, one.TPOT)
	}
}

func BenchmarkStepTimeSmall(b *testing.B) {
	f := facts(b, "deepseek-r1", profiles.Quantization{}, 8)
	a := device(b, "h200-sxm-141gb")
	c := ConstantsFor(engine(b, "vllm"), a, f)
	batch := Batch{Prefill: []Prefill{{Tokens: 512}}, Decode: []Decode{{16, 1000}}}
	for b.Loop() {
		StepTime(f, a, c, batch)
	}
}

func BenchmarkClosedLoop(b *testing.B) {
	f := facts(b, "deepseek-r1", profiles.Quantization{}, 8)
	a := device(b, "h200-sxm-141gb")
	c := ConstantsFor(engine(b, "vllm"), a, f)
	load := ClosedLoad{Concurrency: 64, Input: 1024, Output: 256, Slots: 50, BatchedTokens: 8192}
	for b.Loop() {
		ClosedLoop(f, a, c, load)
	}
}

func TestParseCalibrationRefuses(t *testing.T) {
	whole := "- {engine: vllm, moe: false, constants: {step_us: 1, layer_us: 1, latent_layer_us: 1, expert_layer_us: 1, prompt_layer_us: 1, " +
		"sequence_us: 1, exchange_us: 1, memory_factor: 1, expert_memory_factor: 1, compute_factor: 1, expert_compute_factor: 1, link_factor: 1, request_us: 1}, error: {median: 0.1, low: 0.9, high: 1.1, basis: own, ttft: {median: 0.2, low: 0.8, high: 1.3, basis: model}}, source: x}\n"
	if table, err := ParseCalibration([]byte(whole)); err != nil || len(table) != 1 {
		t.Fatalf("%v, %v", table, err)
	}
	for name, replace := range map[string][2]string{
		"a missing constant": {"link_factor: 1", "x: 1"}, "a negative one": {"step_us: 1", "step_us: -1"}, "no number": {"step_us: 1", "step_us: .nan"},
		"an interval that excludes 1": {"low: 0.9", "low: 1.2"}, "no interval of TTFT": {"low: 0.8", "low: 0"}, "an unknown basis": {"basis: model", "basis: hearsay"}, "an unknown field": {"engine", "motor"}, "nothing": {whole, "[]"}, "no list": {whole, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			if table, err := ParseCalibration([]byte(strings.Replace(whole, replace[0], replace[1], 1))); err == nil {
				t.Errorf("accepted %v", table)
			}
		})
	}
}

func FuzzParseCalibration(f *testing.F) {
	f.Add(constantsFile)
	f.Add([]byte("- {moe: true, constants: {step_us: 1e999}}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ParseCalibration(data)
		if err == nil && len(table) == 0 {
			t.Error("accepted nothing")
		}
	})
}
