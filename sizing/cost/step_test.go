package cost

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

func facts(t testing.TB, model string, q profiles.Quantization, tensor int) Facts {
	t.Helper()
	m, err := profiles.LoadModel(model)
	if err != nil {
		t.Fatal(err)
	}
	return NewFacts(m, shape.Format{Base: shape.BF16, Quantization: q}, shape.BF16, Parallel{Tensor: tensor})
}

func device(t testing.TB, name string) *profiles.Accelerator {
	t.Helper()
	a, err := profiles.LoadAccelerator(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func engine(t testing.TB, name string) *profiles.Engine {
	t.Helper()
	e, err := profiles.LoadEngine(name)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestIdealStep works one step out by hand: a device without overheads whose
// rates make the terms easy to read.
func TestIdealStep(t *testing.T) {
	f := Facts{
		Layers: 10, Tensor: 1, SharedBytes: 1000, LayerParameters: 400, HeadParameters: 100,
		KV: []KVKind{{BytesPerToken: 2}, {BytesPerToken: 4, Window: 10}},
	}
	a := &profiles.Accelerator{BandwidthBytesPerS: 100, BF16FlopsPerS: 1000}
	s := StepTime(f, a, Constants{StepS: 2, LayerS: 1, PromptS: 0.5, SequenceS: 0.25, MemoryFactor: 2, ComputeFactor: 3}, Batch{
		Prefill: []Prefill{{Tokens: 5, Context: 20, Final: true}},
		Decode:  []Decode{{Sequences: 2, Context: 30}},
	})
	bytes := 1000 + (2.0*20 + 4*10) + (2.0*5 + 4*5) + 2*(2.0*30+4*10)
	operations := 2 * (400*7 + 100*3.0)
	fixed := 2 + 10 + 0.5*10 + 0.25*3
	memory, compute := 2*bytes/100, 3*operations/1000
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"tokens", s.Tokens, 7}, {"bytes", s.Bytes, bytes}, {"operations", s.Operations, operations},
		{"fixed", s.Fixed, fixed}, {"memory", s.Memory, memory}, {"compute", s.Compute, compute},
		{"seconds", s.Seconds, fixed + math.Hypot(memory, compute)}, {"limit", s.Limit, max(bytes/100, operations/1000)},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s %v, want %v", c.name, c.got, c.want)
		}
	}
	if got := StepTime(f, a, Constants{LayerS: 1}, Batch{}); got != (Step{}) {
		t.Errorf("an empty batch takes %+v", got)
	}
}

func TestTouchedExperts(t *testing.T) {
	f := Facts{ExpertBytes: 1024, Experts: 64, PerToken: 2}
	a := &profiles.Accelerator{BandwidthBytesPerS: 1, BF16FlopsPerS: 1}
	for tokens, want := range map[float64]float64{1: 32, 2: 1024 * (1 - 62.0*62/64/64), 1e6: 1024} {
		if got := StepTime(f, a, Constants{}, Batch{Decode: []Decode{{Sequences: tokens}}}).Bytes; math.Abs(got-want) > 1e-6 {
			t.Errorf("%v tokens touch %v bytes of experts, want %v", tokens, got, want)
		}
	}
}

// TestMeasuredDecode holds the model against public measurements that share the
// accelerator family with the fit: InferenceX runs at concurrency 4 on H200
// with vLLM, 21.5, 13.9, 9.9 and 7.9 ms at TP 1, 2, 4 and 8.
func TestMeasuredDecode(t *testing.T) {
	a, e := device(t, "h200-sxm-141gb"), engine(t, "vllm@0.19")
	fp8, _ := profiles.ParseWeightFormat("fp8")
	for tensor, want := range map[int]float64{1: 0.0215, 2: 0.0139, 4: 0.0099, 8: 0.0079} {
		f := facts(t, "llama-3.1-70b", fp8, tensor)
		s := StepTime(f, a, ConstantsFor(e, a, f), Batch{Decode: []Decode{{Sequences: 4, Context: 1500}}})
		if off := s.Seconds/want - 1; math.Abs(off) > 0.2 {
			t.Errorf("TP %d: %.1f ms, measured %.1f", tensor, s.Seconds*1e3, want*1e3)
		}
		if s.Limit >= s.Seconds {
			t.Errorf("TP %d: limit %v is not below %v", tensor, s.Limit, s.Seconds)
		}
	}
}

// TestConstantsFallThrough asks for what was measured and for what was not: the
// less is known, the larger the stated error.
func TestConstantsFallThrough(t *testing.T) {
	h100 := device(t, "h100-sxm-80gb")
	vllm := engine(t, "vllm@0.19")
	seen := ConstantsFor(vllm, h100, facts(t, "llama-3.1-70b", profiles.Quantization{}, 4))
	unseen := ConstantsFor(vllm, h100, facts(t, "qwen3-14b", profiles.Quantization{}, 1))
	other := ConstantsFor(vllm, device(t, "mi300x-192gb"), facts(t, "qwen3-14b", profiles.Quantization{}, 1))
	if seen.Vector() == unseen.Vector() || unseen.Vector() == other.Vector() {
		t.Errorf("one set of constants for all: seen %v, unseen %v, other family %v", seen, unseen, other)
	}
	if !(seen.Error.Relative < unseen.Error.Relative && unseen.Error.Relative <= other.Error.Relative) {
		t.Errorf("errors %v, %v, %v do not grow", seen.Error, unseen.Error, other.Error)
	}
	if width := func(c Constants) float64 { return c.Error.High / c.Error.Low }; !(width(seen) < width(unseen) && width(unseen) < width(other)) {
		t.Errorf("intervals %v, %v, %v do not grow", seen.Error, unseen.Error, other.Error)
	}
	for _, k := range []struct {
		engine, device string
		moe            bool
		want           Basis
	}{
		{"vllm", "h100-sxm-80gb", false, HeldModel}, {"vllm", "mi300x-192gb", false, HeldFamily}, {"vllm", "l40s-48gb", true, HeldFamily},
		{"tensorrt-llm", "h100-sxm-80gb", true, HeldBoth}, {"aphrodite", "h100-sxm-80gb", false, HeldEngine}, {"aphrodite", "mi300x-192gb", false, HeldBoth},
	} {
		e := ConstantsFor(engine(t, k.engine), device(t, k.device), Facts{MoE: k.moe}).Error
		if e.Basis != k.want || e.First.Basis != k.want {
			t.Errorf("%s on %s: %+v, want %s", k.engine, k.device, e, k.want)
		}
	}
	if own := ConstantsFor(engine(t, "llmctl"), h100, facts(t, "qwen3-14b", profiles.Quantization{}, 1)); own.Vector() != unseen.Vector() {
		t.Errorf("llmctl's engine does not imitate vLLM: %v", own)
	}
	for _, name := range profiles.EngineNames() {
		for _, device := range profiles.AcceleratorNames() {
			a, err := profiles.LoadAccelerator(device)
			if err != nil {
				t.Fatal(err)
			}
			for _, moe := range []bool{false, true} {
				c := ConstantsFor(engine(t, name), a, Facts{MoE: moe})
				if e := c.Error; c.Source == "" || !(e.Relative > 0 && e.Low > 0 && e.Low < 1 && e.High > 1) {
					t.Errorf("%s on %s: %+v", name, device, c)
				}
			}
		}
	}
}

func TestMoreWorkTakesLonger(t *testing.T) {
	names := profiles.ModelNames()
	a, e := device(t, "h100-sxm-80gb"), engine(t, "vllm")
	rapid.Check(t, func(t *rapid.T) {
		m, err := profiles.LoadModel(rapid.SampledFrom(names).Draw(t, "model"))
		if err != nil {
			t.Fatal(err)
		}
		f := NewFacts(m, shape.FormatOf(m), shape.BF16, Parallel{})
		c := ConstantsFor(e, a, f)
		b := Batch{
			Prefill: []Prefill{{Tokens: rapid.Float64Range(0, 8192).Draw(t, "prompt"), Context: rapid.Float64Range(0, 1e5).Draw(t, "cached")}},
			Decode:  []Decode{{Sequences: rapid.Float64Range(1, 512).Draw(t, "sequences"), Context: rapid.Float64Range(1, 1e5).Draw(t, "context")}},
		}
		s := StepTime(f, a, c, b)
		if !(s.Limit > 0 && s.Seconds > s.Fixed) || math.IsInf(s.Seconds, 0) {
			t.Fatalf("%+v", s)
		}
		b.Decode[0].Sequences++
		if more := StepTime(f, a, c, b); more.Seconds < s.Seconds || more.Limit < s.Limit {
			t.Fatalf("one more sequence made a step shorter: %+v, %+v", s, more)
		}
		faster := *a
		faster.BandwidthBytesPerS *= 2
		if quick := StepTime(f, &faster, c, b); quick.Seconds > StepTime(f, a, c, b).Seconds {
			t.Fatalf("more bandwidth made a step longer")
		}
	})
}

func BenchmarkStepTime(b *testing.B) {
	a, e := device(b, "h100-sxm-80gb"), engine(b, "vllm")
	f := facts(b, "llama-3.1-8b", profiles.Quantization{}, 1)
	c := ConstantsFor(e, a, f)
	batch := Batch{Prefill: []Prefill{{Tokens: 512, Context: 1024}}, Decode: make([]Decode, 256)}
	for i := range batch.Decode {
		batch.Decode[i] = Decode{Sequences: 1, Context: float64(1000 + i)}
	}
	b.ReportAllocs()
	for b.Loop() {
		StepTime(f, a, c, batch)
	}
}
