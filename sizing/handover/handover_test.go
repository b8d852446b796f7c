package handover

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

// flagSources are the flags that commands may use, and where the engine defines
// them.
var flagSources = map[string]map[string]string{
	"vllm": {
		"--tensor-parallel-size":   "vllm/engine/arg_utils.py, ParallelConfig",
		"--pipeline-parallel-size": "vllm/engine/arg_utils.py, ParallelConfig",
		"--data-parallel-size":     "vllm/engine/arg_utils.py, ParallelConfig",
		"--data-parallel-backend":  "vllm/engine/arg_utils.py, ParallelConfig",

		"--distributed-executor-backend": "vllm/engine/arg_utils.py, ParallelConfig",
		"--enable-expert-parallel":       "vllm/engine/arg_utils.py, ParallelConfig",
		"--max-model-len":                "vllm/engine/arg_utils.py, ModelConfig",
		"--dtype":                        "vllm/engine/arg_utils.py, ModelConfig",
		"--quantization":                 "vllm/engine/arg_utils.py, ModelConfig",
		"--max-num-seqs":                 "vllm/engine/arg_utils.py, SchedulerConfig",
		"--max-num-batched-tokens":       "vllm/engine/arg_utils.py, SchedulerConfig",
		"--gpu-memory-utilization":       "vllm/engine/arg_utils.py, CacheConfig",
		"--kv-cache-memory-bytes":        "vllm/engine/arg_utils.py, CacheConfig, since 0.11",
		"--kv-cache-dtype":               "vllm/engine/arg_utils.py, CacheConfig",
		"--block-size":                   "vllm/engine/arg_utils.py, CacheConfig",
	},
	"sglang": {
		"-m":                     "python",
		"--model-path":           "sglang/srt/server_args.py",
		"--tp-size":              "sglang/srt/server_args.py",
		"--pp-size":              "sglang/srt/server_args.py",
		"--dp-size":              "sglang/srt/server_args.py",
		"--ep-size":              "sglang/srt/server_args.py",
		"--enable-dp-attention":  "sglang/srt/server_args.py",
		"--nnodes":               "sglang/srt/server_args.py",
		"--node-rank":            "sglang/srt/server_args.py",
		"--dist-init-addr":       "sglang/srt/server_args.py",
		"--context-length":       "sglang/srt/server_args.py",
		"--max-running-requests": "sglang/srt/server_args.py",
		"--chunked-prefill-size": "sglang/srt/server_args.py",
		"--mem-fraction-static":  "sglang/srt/server_args.py",
		"--page-size":            "sglang/srt/server_args.py",
		"--kv-cache-dtype":       "sglang/srt/server_args.py",
		"--quantization":         "sglang/srt/server_args.py",
		"--dtype":                "sglang/srt/server_args.py",
		"--enable-metrics":       "sglang/srt/server_args.py",
	},
}

func deployment(t *testing.T, change func(*sizing.Request)) Deployment {
	t.Helper()
	r := sizing.Request{Scenario: profiles.Scenario{
		Model: "llama-3.1-8b", Engine: "vllm@0.19", Workload: profiles.Workload{Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 200}},
	}}
	if change != nil {
		change(&r)
	}
	p, err := sizing.Compute(r)
	if err != nil {
		t.Fatal(err)
	}
	m, err := profiles.LoadModel(r.Scenario.Model)
	if err != nil {
		t.Fatal(err)
	}
	return Deployment{p, m, r.Scenario.Model}
}

func write(t *testing.T, d Deployment, target Target) string {
	t.Helper()
	text, err := Write(d, target)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// oneLine joins a command that was wrapped, without its comments.
func oneLine(text string) string {
	text = strings.ReplaceAll(text, "\\\n", "")
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
}

func TestCommands(t *testing.T) {
	for _, tc := range []struct {
		name   string
		target Target
		change func(*sizing.Request)
		want   string
		note   string
	}{
		{"vLLM", VLLM, nil,
			"vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 1 --max-model-len 131072 --max-num-seqs 1024 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16", "replicas"},
		{"vLLM, all set", VLLM, func(r *sizing.Request) {
			r.Scenario.Model, r.Scenario.Parallel = "meta-llama/Llama-3.1-70B-Instruct", profiles.Parallel{Tensor: 4, Pipeline: 2}
			r.WeightDType, r.KVDType, r.GPUMemoryUtilization, r.MaxModelLen, r.MaxNumSeqs, r.BlockSize = "fp8", "fp8", 0.85, 16_384, 128, 32
		}, "vllm serve meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 4 --pipeline-parallel-size 2 --max-model-len 16384 --max-num-seqs 128 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.85 --block-size 32 --kv-cache-dtype fp8 --quantization fp8", ""},
		{"vLLM, given pool", VLLM, func(r *sizing.Request) { r.KVCacheMemory = 30 << 30 },
			"vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 1 --max-model-len 131072 --max-num-seqs 1024 --max-num-batched-tokens 8192 --kv-cache-memory-bytes 32212254720 --block-size 16", ""},
		{"vLLM in fp16", VLLM, func(r *sizing.Request) { r.WeightDType, r.MaxModelLen = "fp16", 8192 },
			"vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 1 --max-model-len 8192 --max-num-seqs 1024 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16 --dtype float16", ""},
		{"vLLM, a checkpoint that is quantized", VLLM, func(r *sizing.Request) { r.Scenario.Model, r.MaxModelLen = "qwen3-32b-awq", 8192 },
			"vllm serve Qwen/Qwen3-32B-AWQ --tensor-parallel-size 1 --max-model-len 8192 --max-num-seqs 1024 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16", ""},
		{"vLLM, weights that need another checkpoint", VLLM, func(r *sizing.Request) { r.WeightDType, r.MaxModelLen = "int4", 8192 },
			"vllm serve meta-llama/Llama-3.1-8B-Instruct --tensor-parallel-size 1 --max-model-len 8192 --max-num-seqs 1024 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16", "int4 weights come from a checkpoint"},
		{"vLLM, experts and data divided", VLLM, func(r *sizing.Request) {
			r.Scenario.Model, r.MaxModelLen = "qwen3-30b-a3b", 8192
			r.Scenario.Parallel = profiles.Parallel{Tensor: 2, Data: 4, Expert: 8}
		}, "vllm serve Qwen/Qwen3-30B-A3B --tensor-parallel-size 2 --data-parallel-size 4 --enable-expert-parallel --max-model-len 8192 --max-num-seqs 1024 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16", ""},
		{"vLLM over two nodes", VLLM, func(r *sizing.Request) {
			r.Scenario.Model, r.Scenario.Parallel, r.MaxModelLen = "deepseek-v3", profiles.Parallel{Tensor: 8, Pipeline: 2}, 8192
		}, "vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 8 --pipeline-parallel-size 2 --distributed-executor-backend ray --max-model-len 8192 --max-num-seqs 1024 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16", "ray start --head"},
		{"vLLM, data over two nodes", VLLM, func(r *sizing.Request) {
			r.Scenario.Model, r.MaxModelLen = "deepseek-v3", 8192
			r.Scenario.Parallel = profiles.Parallel{Tensor: 1, Data: 16, Expert: 16}
		}, "vllm serve deepseek-ai/DeepSeek-V3 --tensor-parallel-size 1 --data-parallel-size 16 --enable-expert-parallel --data-parallel-backend ray --max-model-len 8192 --max-num-seqs 1024 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16", "spans 2 nodes"},
		{"SGLang over two nodes", SGLang, func(r *sizing.Request) {
			r.Scenario.Model, r.Scenario.Engine, r.Scenario.Parallel, r.MaxModelLen = "deepseek-v3", "sglang", profiles.Parallel{Tensor: 16}, 8192
		}, "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp-size 16 --nnodes 2 --node-rank 0 --dist-init-addr HEAD:5000 --context-length 8192 --max-running-requests 2048 --chunked-prefill-size 8192 --mem-fraction-static FRACTION --page-size 1 --enable-metrics", "--node-rank 0 to 1"},
		{"a base model for chats", VLLM, func(r *sizing.Request) { r.Scenario.Model, r.MaxModelLen = "meta-llama/Llama-3.1-8B", 8192 },
			"vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 1 --max-model-len 8192 --max-num-seqs 1024 --max-num-batched-tokens 8192 --gpu-memory-utilization 0.9 --block-size 16", "no chat template"},
		{"SGLang, experts and data divided", SGLang, func(r *sizing.Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "qwen3-30b-a3b", "sglang", 8192
			r.Scenario.Parallel = profiles.Parallel{Tensor: 2, Data: 4, Expert: 8}
		}, "python -m sglang.launch_server --model-path Qwen/Qwen3-30B-A3B --tp-size 8 --dp-size 4 --enable-dp-attention --ep-size 8 --context-length 8192 --max-running-requests 2048 --chunked-prefill-size 8192 --mem-fraction-static FRACTION --page-size 1 --enable-metrics", ""},
		{"SGLang", SGLang, func(r *sizing.Request) { r.Scenario.Engine, r.KVDType, r.Scenario.Parallel.Tensor = "sglang", "fp8", 2 },
			"python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --tp-size 2 --context-length 131072 --max-running-requests 2048 --chunked-prefill-size 8192 --mem-fraction-static FRACTION --page-size 1 --kv-cache-dtype fp8_e4m3 --enable-metrics", ""},
		{"SGLang from a plan for vLLM", SGLang, nil,
			"python -m sglang.launch_server --model-path meta-llama/Llama-3.1-8B-Instruct --tp-size 1 --context-length 131072 --max-running-requests 1024 --chunked-prefill-size 8192 --mem-fraction-static FRACTION --enable-metrics", "plan with --engine sglang"},
		{"ours", Llmctl, func(r *sizing.Request) {
			r.Scenario.Model, r.Scenario.Engine, r.MaxModelLen = "builtin", "llmctl", 2048
		},
			"llmctl serve --model builtin --max-model-len 2048 --kv-cache-memory 134217728 --max-num-seqs 64 --max-num-batched-tokens 512 --block-size 16", ""},
		{"ours as a stand-in", Llmctl, nil,
			"llmctl serve --model builtin --served-model-name meta-llama/Llama-3.1-8B-Instruct --max-num-seqs 1024 --max-num-batched-tokens 8192 --block-size 16", "stands in for llama-3.1-8b"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			text := write(t, deployment(t, tc.change), tc.target)
			got := oneLine(text)
			if strings.Contains(tc.want, "FRACTION") {
				got = regexp.MustCompile(`(--mem-fraction-static) 0\.\d{1,3} `).ReplaceAllString(got, "$1 FRACTION ")
			}
			if got != tc.want {
				t.Errorf("got  %s\nwant %s", got, tc.want)
			}
			if !strings.Contains(text, tc.note) {
				t.Errorf("no note of %q:\n%s", tc.note, text)
			}
			for word := range strings.FieldsSeq(got) {
				if sources := flagSources[string(tc.target)]; sources != nil && strings.HasPrefix(word, "-") && sources[word] == "" {
					t.Errorf("the flag %s has no source", word)
				}
			}
			for line := range strings.Lines(text) {
				if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > width {
					t.Errorf("line of %d columns: %s", len(line), line)
				}
			}
		})
	}
}

func TestStaticFraction(t *testing.T) {
	d := deployment(t, func(r *sizing.Request) { r.Scenario.Engine = "sglang" })
	m := d.Plan.Memory
	text := write(t, d, SGLang)
	var got float64
	if match := regexp.MustCompile(`--mem-fraction-static (\S+)`).FindStringSubmatch(text); match != nil {
		got = mustNumber(t, match[1])
	}
	if want := float64(m.WeightsBytes+m.KVCacheBytes) / float64(m.TotalBytes); got > want || got < want-0.001 {
		t.Errorf("static fraction %v, weights and cache take %v", got, want)
	}
}

func mustNumber(t *testing.T, text string) float64 {
	t.Helper()
	var v float64
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestModelOnTheCommandLine(t *testing.T) {
	for name, tc := range map[string]struct {
		d    Deployment
		want string
	}{
		"tuned":          {Deployment{Model: &profiles.Model{IDs: []string{"a/b-v0.1", "a/b-Instruct-v0.1"}}, Ref: "b"}, "a/b-Instruct-v0.1"},
		"as named":       {Deployment{Model: &profiles.Model{IDs: []string{"a/b", "a/b-instruct"}}, Ref: "a/b-instruct"}, "a/b-instruct"},
		"first":          {Deployment{Model: &profiles.Model{IDs: []string{"a/b", "a/b-fp16"}}, Ref: "b"}, "a/b"},
		"folder":         {Deployment{Model: &profiles.Model{}, Ref: "my models/x"}, "my models/x"},
		"folder of file": {Deployment{Model: &profiles.Model{}, Ref: "my models/x/config.json"}, "my models/x"},
	} {
		tc.d.Plan = &sizing.Plan{Inputs: sizing.Inputs{Workload: "chat"}}
		if got := tc.d.loads(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
	d := deployment(t, nil)
	d.Model, d.Ref = &profiles.Model{DType: "bf16"}, "my models/it's"
	if text := write(t, d, VLLM); !strings.Contains(text, `vllm serve 'my models/it'\''s' --`) {
		t.Error(text)
	}
}

// strict reads one YAML document in which no key is unknown.
func strict(t *testing.T, text string, into any) {
	t.Helper()
	decoder := yaml.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.KnownFields(true)
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	if err := decoder.Decode(new(any)); !errors.Is(err, io.EOF) {
		t.Fatalf("a second document, or %v", err)
	}
}

func TestAlerts(t *testing.T) {
	for _, engine := range []string{"vllm@0.9", "vllm@0.10", "vllm@0.19", "sglang", "llmctl"} {
		t.Run(engine, func(t *testing.T) {
			d := deployment(t, func(r *sizing.Request) {
				r.Scenario.Engine = engine
				r.Scenario.SLO = []profiles.SLO{{TTFT: 2 * time.Second, TPOT: 100 * time.Millisecond, E2E: 90 * time.Second, Attainment: 0.95}}
			})
			var file ruleFile
			strict(t, write(t, d, Alerts), &file)
			exprs := map[string]string{}
			for _, r := range file.Groups[0].Rules {
				exprs[r.Alert] = r.Expr
				if r.For == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || !balanced(r.Expr) {
					t.Errorf("rule %+v", r)
				}
			}
			for alert, want := range map[string]string{
				"LLMTTFTAboveObjective": "> 2", "LLMTPOTAboveObjective": "> 0.1", "LLME2EAboveObjective": "> 90", "LLMCacheNearlyFull": "> 0.9", "LLMPreemptionsRising": "> 0",
			} {
				if !strings.HasSuffix(exprs[alert], want) {
					t.Errorf("%s is %q, want it to end in %s", alert, exprs[alert], want)
				}
			}
			if !strings.HasPrefix(exprs["LLMTTFTAboveObjective"], "histogram_quantile(0.95, ") {
				t.Error(exprs["LLMTTFTAboveObjective"])
			}
			if fails := exprs["LLMRequestsFail"]; (fails == "") != (engine == "llmctl") || fails != "" && !strings.HasSuffix(fails, "> 0.05") {
				t.Errorf("failures: %q", fails)
			}
		})
	}
}

// balanced reports whether the brackets and quotes of an expression close.
func balanced(expr string) bool {
	var open []rune
	inText := false
	for _, r := range expr {
		switch {
		case r == '"':
			inText = !inText
		case inText:
		case strings.ContainsRune("([{", r):
			open = append(open, r)
		case strings.ContainsRune(")]}", r):
			pairs := map[rune]rune{')': '(', ']': '[', '}': '{'}
			if len(open) == 0 || open[len(open)-1] != pairs[r] {
				return false
			}
			open = open[:len(open)-1]
		}
	}
	return len(open) == 0 && !inText
}

// TestMetricNamesFollowTheVersion: vLLM renamed two of them.
func TestMetricNamesFollowTheVersion(t *testing.T) {
	for engine, want := range map[string][]string{
		"vllm@0.9":  {"vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds"},
		"vllm@0.10": {"vllm:kv_cache_usage_perc", "vllm:time_per_output_token_seconds"},
		"vllm@0.11": {"vllm:kv_cache_usage_perc", "vllm:request_time_per_output_token_seconds"},
		"llmctl@1":  {"vllm:kv_cache_usage_perc", "vllm:request_time_per_output_token_seconds"},
		"sglang@1":  {"sglang:token_usage", "sglang:inter_token_latency_seconds"},
	} {
		m, err := Deployment{Plan: &sizing.Plan{Inputs: sizing.Inputs{Engine: engine}}}.metrics()
		if err != nil || !slices.Equal([]string{m.kvUsage, m.tpot}, want) {
			t.Errorf("%s: %v, %v, want %v", engine, m, err, want)
		}
	}
}

func TestAll(t *testing.T) {
	text := write(t, deployment(t, nil), All)
	for _, want := range []string{"# ---- vllm ----", "# ---- autoscaler ----", "# ---- alerts ----", "vllm serve", "ScaledObject", "LLMQueueGrowing"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if _, err := Write(deployment(t, func(r *sizing.Request) { r.Scenario.Engine = "tensorrt-llm" }), All); err == nil || !strings.Contains(err.Error(), "tensorrt-llm") {
		t.Errorf("metrics of TensorRT-LLM: %v", err)
	}
	if _, err := Write(deployment(t, func(r *sizing.Request) { r.Scenario.Model = "llama-3.1-405b" }), VLLM); err == nil {
		t.Error("an infeasible plan was handed over")
	}
}

func TestParseTarget(t *testing.T) {
	for _, name := range Targets {
		if got, err := ParseTarget(name); err != nil || string(got) != name {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := ParseTarget("vlm"); err == nil || !strings.Contains(err.Error(), `did you mean "vllm"?`) {
		t.Error(err)
	}
}

func TestKubernetesName(t *testing.T) {
	for name, want := range map[string]string{
		"llama-3.1-8b": "llama-3-1-8b", "My Model/7B": "my-model-7b", "…": "llm", strings.Repeat("a", 70): strings.Repeat("a", 63), "-x-": "x",
	} {
		if got := kubernetesName(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
