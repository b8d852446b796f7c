package profiles

import "testing"

// TestGraphs counts the graphs that logs of vLLM show: "PIECEWISE=51
// (largest=512), FULL=35 (largest=256)" for 256 requests.
func TestGraphs(t *testing.T) {
	for seqs, want := range map[int]int{1: 2 + 1, 128: 35 + 19, 256: 51 + 35, 1024: 51 + 51} {
		if got := (CUDAGraph{}).Graphs(seqs); got != want {
			t.Errorf("%d requests: %d graphs, want %d", seqs, got, want)
		}
	}
}

// TestUncountedGraphs follows the models from one model runner of vLLM to the other.
func TestUncountedGraphs(t *testing.T) {
	for _, tc := range []struct {
		engine, model string
		quantized     bool
		want          bool
	}{
		{"vllm@0.22", "llama-3.1-8b", false, false},
		{"vllm@0.23", "llama-3.1-8b", false, true},
		{"vllm@0.23", "llama-3.1-8b", true, false},
		{"vllm@0.23", "qwen2.5-7b", false, false},
		{"vllm@0.25", "qwen2.5-7b", true, true},
		{"vllm@0.25", "qwen3-30b-a3b", false, false},
		{"vllm@0.25", "qwen3.5-27b", false, false},
		{"vllm@0.25", "deepseek-v2-lite", false, true},
		{"vllm@0.29", "llama-3.1-8b", false, false},
	} {
		e, err := LoadEngine(tc.engine)
		if err != nil {
			t.Fatal(err)
		}
		m, err := LoadModel(tc.model)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.CUDAGraph.Uncounted.Match(m, tc.quantized); got != tc.want {
			t.Errorf("%s of %s, quantized %v: %v", tc.engine, tc.model, tc.quantized, got)
		}
	}
}

// TestOutsideByLink: ranks on PCIe alone have no shared buffers.
func TestOutsideByLink(t *testing.T) {
	for _, tc := range []struct {
		engine, accelerator string
		want                int64
	}{
		{"vllm@0.19", "h100-sxm-80gb", 590558003 + 1664299827},
		{"vllm@0.19", "a100-sxm-80gb", 590558003},
		{"vllm@0.19", "l40s-48gb", 225485783},
		{"sglang", "h100-sxm-80gb", 590558003 + 1664299827},
		{"sglang", "rtx-4090-24gb", 590558003},
	} {
		e, err := LoadEngine(tc.engine)
		if err != nil {
			t.Fatal(err)
		}
		a, err := LoadAccelerator(tc.accelerator)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.NonTorch.OutsideBytes(a, 2, 1, 1); got != tc.want {
			t.Errorf("%s on %s: %d, want %d", tc.engine, tc.accelerator, got, tc.want)
		}
	}
}
