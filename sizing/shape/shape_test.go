package shape

import (
	"cmp"
	"encoding/csv"
	"math"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
)

func load(t testing.TB, name string) *profiles.Model {
	t.Helper()
	m, err := profiles.LoadModel(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestParametersOfPublishedModels compares with totals that were computed apart
// from this code and checked against published files and engine logs.
func TestParametersOfPublishedModels(t *testing.T) {
	f, err := os.Open("testdata/models.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 110 {
		t.Fatalf("%d rows, want at least 110", len(rows))
	}
	for _, r := range rows[1:] {
		t.Run(r[0], func(t *testing.T) {
			m := load(t, r[0])
			p := CountParameters(m)
			within(t, "parameters", p.Total(), r[1], 0.00001)
			within(t, "active parameters", p.Active(), r[2], 0.001)
			// 16-bit values whatever the model's weights are.
			within(t, "KV bytes per token", KVBytesPerToken(m, BF16, 1), r[3], 0)
			within(t, "KV bytes beyond windows", GrowingKVBytesPerToken(m, BF16, 1), r[4], 0)
			within(t, "state bytes per sequence", StateBytes(m, BF16, 1), cmp.Or(r[5], "0"), 0)
			if m.Vision != nil {
				within(t, "parameters with the tower", p.Total()+int64(m.Vision.Encoder+m.Vision.Projector), r[6], 0.0001)
			} else if r[6] != "" {
				t.Errorf("no tower is read, with it there are %s parameters", r[6])
			}
		})
	}
}

// within compares with a published number, where there is one.
func within(t *testing.T, name string, got int64, text string, tolerance float64) {
	t.Helper()
	if text == "" {
		return
	}
	want, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(float64(got)-want) > tolerance*want {
		t.Errorf("%s %d, want %s", name, got, text)
	}
}

func TestBuiltinModel(t *testing.T) {
	m := load(t, "builtin")
	// 2,048 × 128 embeddings, tied; per layer 128 × (128 + 64 + 64 + 128) of
	// attention, 3 × 128 × 352 of MLP and two norms; a last norm.
	want := int64(2048*128 + 4*(128*(128+64+64+128)+3*128*352+2*128) + 128)
	if got := CountParameters(m).Total(); got != want {
		t.Errorf("%d parameters, want %d", got, want)
	}
	if got := KVBytesPerToken(m, FP32, 1); got != 2*4*2*32*4 {
		t.Errorf("%d bytes per token", got)
	}
}

// TestArticle is the arithmetic of the system-design article: Llama 3.1 8B.
func TestArticle(t *testing.T) {
	m := load(t, "llama-3.1-8b")
	for _, tc := range []struct {
		tokens int
		bytes  int64
	}{{1, 131_072}, {4096, 512 << 20}, {8192, 1 << 30}, {131_072, 16 << 30}} {
		if got := KVBytes(m, BF16, 1, tc.tokens); got != tc.bytes {
			t.Errorf("%d tokens take %d bytes, want %d", tc.tokens, got, tc.bytes)
		}
	}
	ungrouped := *m
	ungrouped.Layers = nil
	for _, layer := range m.Layers {
		layer.Attention.KVHeads = layer.Attention.Heads
		ungrouped.Layers = append(ungrouped.Layers, layer)
	}
	if got := KVBytesPerToken(&ungrouped, BF16, 1); got != 4*131_072 {
		t.Errorf("without grouped queries %d bytes per token, want four times 131,072", got)
	}
	if inFlight := 57.5e9 / float64(KVBytes(m, BF16, 1, 4096)); inFlight < 105 || inFlight > 120 {
		t.Errorf("%.0f requests of 4,096 tokens in 55 to 60 GB, the article has 110 to 120", inFlight)
	}
}

// TestFullContexts are figures that users worked out in public trackers.
func TestFullContexts(t *testing.T) {
	for _, tc := range []struct {
		model  string
		tokens int
		gib    float64
	}{
		{"gemma-3-27b", 131_072, 10.41},
		{"deepseek-v3", 163_840, 10.72},
		{"kimi-k2.5", 262_144, 17.16},
		{"qwen3-0.6b", 40_960, 4.375},
		{"gemma-4-31b", 262_144, 20.78},
	} {
		if got := float64(KVBytes(load(t, tc.model), BF16, 1, tc.tokens)) / (1 << 30); math.Abs(got-tc.gib) > 0.01 {
			t.Errorf("%s at %d tokens: %.3f GiB, want %.2f", tc.model, tc.tokens, got, tc.gib)
		}
	}
}

func TestHeadsAreCopiedAndLatentIsNotDivided(t *testing.T) {
	for _, tc := range []struct {
		model  string
		kv     DType
		tensor int
		bytes  int64
	}{
		{"qwen3-32b", BF16, 4, 262_144 / 4},
		{"qwen2.5-7b", BF16, 4, 57_344 / 4},
		{"qwen2.5-7b", BF16, 8, 57_344 / 4}, // 4 KV heads on 8 ranks
		{"deepseek-v3", BF16, 1, 70_272},
		{"deepseek-v3", BF16, 8, 70_272},
		{"deepseek-v3.2", FP8, 8, 61 * (656 + 132)},
		{"llama-3.1-8b", FP8, 1, 65_536},
		{"llama-3.1-8b", INT8, 1, 32 * 8 * 2 * (128 + 4)},
		{"llama-3.1-8b", FP8PerHead, 8, 32 * 2 * (128 + 4)},
		{"llama-3.1-8b", NVFP4, 1, 32 * 8 * 2 * (64 + 8)},
		// A window's vector on each of 43 layers, and what compresses beside it:
		// 21 layers by 4 with an index, 20 by 128.
		{"deepseek-v4-flash", FP8, 8, 43*584 + (21*(584+132)*32+20*584)/128},
	} {
		if got := KVBytesPerToken(load(t, tc.model), tc.kv, tc.tensor); got != tc.bytes {
			t.Errorf("%s %s TP %d: %d bytes per token, want %d", tc.model, tc.kv, tc.tensor, got, tc.bytes)
		}
	}
}

// TestWeightsOfLogs compares with "model loading took … GiB" lines.
func TestWeightsOfLogs(t *testing.T) {
	for _, tc := range []struct {
		model, format    string
		tensor, pipeline int
		gib, tolerance   float64
	}{
		{"llama-3.1-8b", "bf16", 1, 1, 14.99, 0.005},
		{"llama-3.1-8b", "fp8", 1, 1, 8.49, 0.005},
		{"llama-3.1-8b", "int4", 1, 1, 5.38, 0.015},
		{"llama-3.1-8b", "bf16", 2, 1, 7.51, 0.005},
		{"llama-3.1-8b", "bf16", 1, 4, 4.26, 0.01},
		{"llama-3.3-70b", "fp8", 4, 1, 16.96, 0.005},
		{"llama-3.1-70b", "awq", 1, 1, 37.10, 0.005},
		{"mixtral-8x7b", "bf16", 2, 1, 43.51, 0.001},
		{"gpt-oss-20b", "mxfp4", 1, 1, 13.47, 0.01},
		{"gpt-oss-120b", "mxfp4", 1, 1, 64.38, 0.01},
	} {
		m := load(t, tc.model)
		q, err := profiles.ParseWeightFormat(tc.format)
		if err != nil {
			t.Fatal(err)
		}
		if m.Quantization.Method == q.Method {
			q = m.Quantization
		}
		got := float64(Weights(m, Format{Base: BF16, Quantization: q}).PerRank(tc.tensor, tc.pipeline)) / (1 << 30)
		if math.Abs(got/tc.gib-1) > tc.tolerance {
			t.Errorf("%s %s TP %d PP %d: %.2f GiB, the engine logged %.2f", tc.model, tc.format, tc.tensor, tc.pipeline, got, tc.gib)
		}
	}
}

func TestKVBytesAddUpOverLayers(t *testing.T) {
	names := profiles.ModelNames()
	rapid.Check(t, func(t *rapid.T) {
		m, err := profiles.LoadModel(rapid.SampledFrom(names).Draw(t, "model"))
		if err != nil {
			t.Fatal(err)
		}
		d := rapid.SampledFrom([]DType{BF16, FP16, FP32, FP8}).Draw(t, "dtype")
		tokens := rapid.IntRange(1, 1<<20).Draw(t, "tokens")
		cut := rapid.IntRange(0, len(m.Layers)).Draw(t, "cut")
		head, tail := *m, *m
		head.Layers, tail.Layers = m.Layers[:cut], m.Layers[cut:]
		if a, b, both := KVBytes(&head, d, 1, tokens), KVBytes(&tail, d, 1, tokens), KVBytes(m, d, 1, tokens); a+b != both {
			t.Fatalf("%d + %d != %d", a, b, both)
		}
		if more := KVBytes(m, d, 1, tokens+1); more < KVBytes(m, d, 1, tokens) {
			t.Fatalf("a longer request takes less")
		}
		if KVBytes(m, d, 2, tokens) > KVBytes(m, d, 1, tokens) {
			t.Fatalf("a rank of two takes more than one alone")
		}
	})
}

func TestParseDType(t *testing.T) {
	for text, want := range map[string]DType{"bf16": BF16, "FP8": FP8, "fp8_e4m3": FP8, "fp32": FP32, "int8": INT8, "fp4": NVFP4, "nvfp4": NVFP4} {
		if got, err := ParseDType(text); err != nil || got != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"bf61":    `unknown KV dtype "bf61", did you mean "bf16"?`,
		"quarter": `unknown KV dtype "quarter", expected one of bf16, fp16, fp32, fp8, int8, fp8-per-token-head, nvfp4`,
	} {
		if _, err := ParseDType(text); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}
