package sizing

import (
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/profiles"
)

// TestFormatsSuitTheDevice holds every device to what it computes in.
func TestFormatsSuitTheDevice(t *testing.T) {
	for _, tc := range []struct {
		name        string
		accelerator string
		change      func(*Request)
		weights, kv string
		warning     string
	}{
		{"bf16 model on T4", "t4-16gb", nil, "fp16", "fp16", "no-bf16"},
		{"bf16 model on V100", "v100-sxm-32gb", nil, "fp16", "fp16", "no-bf16"},
		{"bf16 asked for", "t4-16gb", func(r *Request) { r.WeightDType, r.KVDType = "bf16", "bf16" }, "fp16", "fp16", "no-bf16"},
		{"only the cache in bf16", "t4-16gb", func(r *Request) { r.WeightDType, r.KVDType = "fp16", "bf16" }, "fp16", "fp16", "no-bf16"},
		{"fp16 asked for", "t4-16gb", func(r *Request) { r.WeightDType = "fp16" }, "fp16", "fp16", ""},
		{"activations beside int4", "t4-16gb", func(r *Request) { r.WeightDType = "int4" }, "int4", "fp16", "no-bf16"},
		{"fp8 on A100", "a100-sxm-80gb", func(r *Request) { r.WeightDType = "fp8" }, "fp8", "bf16", "no-fp8"},
		{"fp8 cache on A100", "a100-sxm-80gb", func(r *Request) { r.KVDType = "fp8" }, "bf16", "fp8", "no-fp8-cache"},
		{"nvfp4 on H100", "h100-sxm-80gb", func(r *Request) { r.WeightDType = "nvfp4" }, "nvfp4", "bf16", "no-fp4"},
		{"bf16 on H100", "h100-sxm-80gb", nil, "bf16", "bf16", ""},
		{"fp8 on H100", "h100-sxm-80gb", func(r *Request) { r.WeightDType, r.KVDType = "fp8", "fp8" }, "fp8", "fp8", ""},
		{"nvfp4 on B200", "b200-180gb", func(r *Request) { r.WeightDType = "nvfp4" }, "nvfp4", "bf16", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustCompute(t, scenario(func(r *Request) {
				r.Scenario.Model, r.Scenario.Accelerator = "llama-3.2-1b", tc.accelerator
				if tc.change != nil {
					tc.change(r)
				}
			}))
			if p.Inputs.WeightDType != tc.weights || p.Inputs.KVDType != tc.kv {
				t.Errorf("weights %s, cache %s, want %s and %s", p.Inputs.WeightDType, p.Inputs.KVDType, tc.weights, tc.kv)
			}
			for _, code := range []string{"no-bf16", "no-fp8", "no-fp8-cache", "no-fp4"} {
				if hasWarning(p, code) != (code == tc.warning) {
					t.Errorf("warnings %v, want of these only %q", p.Warnings, tc.warning)
				}
			}
		})
	}
}

// TestNoFP8WhereThereIsNone reads the suggestions on every device.
func TestNoFP8WhereThereIsNone(t *testing.T) {
	suggested := 0
	for _, name := range profiles.AcceleratorNames() {
		a, err := profiles.LoadAccelerator(name)
		if err != nil {
			t.Fatal(err)
		}
		if a.BF16FlopsPerS == 0 {
			continue
		}
		for _, model := range []string{"llama-3.1-8b", "qwen3-14b", "qwen3-32b", "llama-3.1-405b"} {
			p := mustCompute(t, scenario(func(r *Request) { r.Scenario.Model, r.Scenario.Accelerator = model, name }))
			said := strings.Contains(strings.Join(p.Reasons, "\n"), "dtype fp8")
			if said && a.FP8FlopsPerS == 0 {
				t.Errorf("%s on %s: %v", model, name, p.Reasons)
			}
			if said {
				suggested++
			}
		}
	}
	if suggested == 0 {
		t.Error("fp8 was suggested nowhere")
	}
}

// TestEveryDefaultIsListed names defaults that depend on what was said.
func TestEveryDefaultIsListed(t *testing.T) {
	second := profiles.SLO{TTFT: time.Second}
	for _, tc := range []struct {
		name   string
		change func(*Request)
		flag   string
		value  string // "" when nothing is assumed
	}{
		{"attainment of a bound", func(r *Request) { r.Scenario.SLO = []profiles.SLO{second} }, "--slo", "attainment=0.99"},
		{"attainment said", func(r *Request) { r.Scenario.SLO = []profiles.SLO{{TTFT: time.Second, Attainment: 0.95}} }, "--slo", ""},
		{"attainment of one of two", func(r *Request) {
			r.Scenario.SLO = []profiles.SLO{second, {TPOT: time.Second, Attainment: 0.9}}
		}, "--slo", "attainment=0.99"},
		{"a stricter one said", func(r *Request) {
			r.Scenario.SLO = []profiles.SLO{second, {TPOT: time.Second, Attainment: 0.999}}
		}, "--slo", ""},
		{"no SLO", nil, "--slo", "ttft=500ms,tpot=50ms,attainment=0.99"},
		{"own prompts share nothing", func(r *Request) { r.Scenario.Workload.Input = fixed(100) }, "--prefix", "none"},
		{"own prompts said to share nothing", func(r *Request) {
			r.Scenario.Workload.Input, r.Scenario.Workload.Prefix = fixed(100), profiles.Prefix{None: true}
		}, "--prefix", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := ""
			for _, a := range mustCompute(t, scenario(tc.change)).Assumptions {
				if a.Flag == tc.flag {
					got += a.Value
				}
			}
			if got != tc.value {
				t.Errorf("%s assumed as %q, want %q", tc.flag, got, tc.value)
			}
		})
	}
}
