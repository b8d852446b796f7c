package cost

import (
	"math"
	"testing"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// TestSparseAttention works DeepSeek-V3.2 out by hand: a decode scores all index
// keys (128 values and a scale in each of 61 layers, 64 heads) and reads 2,048
// latent vectors (576 values of 16 bits), in which 128 heads score 576 values
// and sum 512.
func TestSparseAttention(t *testing.T) {
	f := facts(t, "deepseek-v3.2", profiles.Quantization{}, 1)
	dense := facts(t, "deepseek-r1", profiles.Quantization{}, 1)
	a := device(t, "h200-sxm-141gb")
	decode := func(f Facts, context float64) Step {
		with := StepTime(f, a, Constants{}, Batch{Decode: []Decode{{1, context}}})
		none := StepTime(f, a, Constants{}, Batch{Decode: []Decode{{1, 0}}})
		with.Bytes -= none.Bytes
		return with
	}
	for _, context := range []float64{1000, 2048, 64_000} {
		selected := min(context, 2048)
		s := decode(f, context)
		for _, c := range []struct {
			name      string
			got, want float64
		}{
			{"bytes", s.Bytes, 61 * (132*context + 1152*selected)},
			{"attention", s.Attention, 61 * 2 * 128 * (576 + 512) * selected},
			{"index", s.Index, 61 * 2 * 64 * 128 * context},
			{"bytes held", f.KVBytes(context), 61 * (132 + 1152) * context},
			{"bytes of dense attention", decode(dense, context).Bytes, 61 * 1152 * context},
			{"dense attention", decode(dense, context).Attention, 61 * 2 * 128 * (576 + 512) * context},
		} {
			if math.Abs(c.got/c.want-1) > 1e-6 {
				t.Errorf("%s after %v tokens: %v, want %v", c.name, context, c.got, c.want)
			}
		}
	}
	// A prompt takes the expanded form, of 192 and 128 values, as long as that is
	// less work than 2,048 latent vectors per token.
	prompt := StepTime(f, a, Constants{}, Batch{Prefill: []Prefill{{Tokens: 1000, Context: 1000}}})
	if want := 61 * 2 * 128 * (192 + 128) * 1000 * 1500.0; math.Abs(prompt.Attention/want-1) > 1e-9 {
		t.Errorf("a prompt's attention %v, want %v", prompt.Attention, want)
	}
	far := StepTime(f, a, Constants{}, Batch{Prefill: []Prefill{{Tokens: 1000, Context: 50_000}}})
	if want := 61 * 2 * 128 * (576 + 512) * 1000 * 2048.0; math.Abs(far.Attention/want-1) > 1e-9 {
		t.Errorf("a late chunk's attention %v, want %v", far.Attention, want)
	}
}

// TestReusedIndex: of GLM-5.2's 78 layers 21 score an index, and all hold keys.
func TestReusedIndex(t *testing.T) {
	f := facts(t, "glm-5.2", profiles.Quantization{}, 1)
	a := device(t, "h200-sxm-141gb")
	s := StepTime(f, a, Constants{}, Batch{Decode: []Decode{{1, 10_000}}})
	if want := 21 * 2 * 32 * 128 * 10_000.0; math.Abs(s.Index/want-1) > 1e-9 {
		t.Errorf("index %v operations, want %v", s.Index, want)
	}
	with, without := StepTime(f, a, Constants{}, Batch{Decode: []Decode{{1, 20_000}}}).Bytes, s.Bytes
	if want := 21 * 132 * 10_000.0; math.Abs((with-without)/want-1) > 1e-6 {
		t.Errorf("10,000 more tokens read %v bytes more, want %v", with-without, want)
	}
}

// TestPairs compares the integrals with sums over single tokens.
func TestPairs(t *testing.T) {
	for _, tc := range []struct {
		name string
		kind KVKind
		sees func(at int) float64
	}{
		{"all", KVKind{Width: 1, DecodeWidth: 1}, func(at int) float64 { return float64(at) }},
		{"window", KVKind{Window: 4096, Width: 1, DecodeWidth: 1}, func(at int) float64 { return float64(min(at, 4096)) }},
		{"chunk", KVKind{Window: 4096, Chunked: true, Width: 1, DecodeWidth: 1}, func(at int) float64 { return float64(at % 4096) }},
		{"selected", KVKind{Selected: 2048, Width: 1, DecodeWidth: 3}, func(at int) float64 { return float64(min(at, 3*2048)) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, chunk := range [][2]int{{0, 8192}, {0, 1000}, {3000, 2000}, {4096, 4096}, {10_000, 8192}, {20_000, 1}} {
				want := 0.0
				for i := range chunk[1] {
					want += tc.sees(chunk[0]+i) + 0.5 // half of itself
				}
				if got := tc.kind.pairs(float64(chunk[0]), float64(chunk[1])); math.Abs(got/want-1) > 2e-3 {
					t.Errorf("%d after %d: %v pairs, want %v", chunk[1], chunk[0], got, want)
				}
			}
		})
	}
}

// TestChunkedDecode: beyond the first chunk of 8,192 tokens a decode of Llama 4
// sees half of one on average in three of four layers.
func TestChunkedDecode(t *testing.T) {
	f := facts(t, "llama-4-scout", profiles.Quantization{}, 1)
	perLayer := 2.0 * 8 * 128 * 2
	for context, want := range map[float64]float64{5000: 48 * 5000, 8192: 48 * 8192, 30_000: 12*30_000 + 36*4096} {
		if got := f.KVBytes(context) / perLayer; math.Abs(got-want) > 1e-6*want {
			t.Errorf("a sequence of %v tokens holds %v layers' tokens, want %v", context, got, want)
		}
	}
}

// TestRate: weights whose units a device lacks are widened to 16 bits.
func TestRate(t *testing.T) {
	encoding := func(method string, weightOnly bool, group int) profiles.Quantization {
		return profiles.Quantization{Encoding: profiles.Encoding{Method: method, WeightOnly: weightOnly, GroupSize: group}}
	}
	for _, tc := range []struct {
		device string
		q      profiles.Quantization
		tera   float64
	}{
		{"h100-sxm-80gb", encoding("fp8", false, 0), 1978},
		{"h100-sxm-80gb", encoding("nvfp4", false, 16), 989},
		{"b200-180gb", encoding("nvfp4", false, 16), 9000},
		{"a100-sxm-80gb", encoding("fp8", false, 128), 312},
		{"a100-sxm-80gb", encoding("int8", false, 0), 624},
		{"a100-sxm-80gb", encoding("int8", true, 0), 312},
		{"a100-sxm-80gb", encoding("int8", false, 128), 312},
		{"v100-sxm-32gb", encoding("int8", false, 0), 112},
		{"t4-16gb", encoding("int8", false, 0), 130},
		{"h100-sxm-80gb", encoding("awq", false, 128), 989},
		{"h100-sxm-80gb", encoding("mxfp4", false, 32), 989},
		{"h100-sxm-80gb", profiles.Quantization{}, 989},
	} {
		m, err := profiles.LoadModel("llama-3.1-8b")
		if err != nil {
			t.Fatal(err)
		}
		f := NewFacts(m, shape.Format{Base: shape.BF16, Quantization: tc.q}, shape.BF16, Parallel{})
		if got := Rate(device(t, tc.device), f.Units) / 1e12; math.Abs(got-tc.tera) > 1e-6 {
			t.Errorf("%+v on %s multiplies at %v TFLOP/s, want %v", tc.q.Encoding, tc.device, got, tc.tera)
		}
	}
}
