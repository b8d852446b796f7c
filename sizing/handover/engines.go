package handover

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// flags collects a command's words.
type flags []string

func (f *flags) text(name, value string) {
	if value != "" {
		*f = append(*f, name, value)
	}
}

func (f *flags) count(name string, n int) { f.text(name, strconv.Itoa(n)) }

func (f *flags) number(name string, v float64) {
	f.text(name, strconv.FormatFloat(v, 'f', -1, 64))
}

// vllm writes `vllm serve`. Flags: vLLM vllm/engine/arg_utils.py.
func vllm(d Deployment) ([]string, []string) {
	in, own := d.Plan.Inputs, d.engine() == "vllm"
	f := flags{"vllm", "serve", d.loads()}
	f.count("--tensor-parallel-size", in.TensorParallel)
	if in.PipelineParallel > 1 {
		f.count("--pipeline-parallel-size", in.PipelineParallel)
	}
	if in.DataParallel > 1 {
		f.count("--data-parallel-size", in.DataParallel)
	}
	if in.ExpertParallel > 1 {
		f = append(f, "--enable-expert-parallel") // over all ranks
	}
	notes := d.template()
	if n := d.nodes(); n > 1 {
		if in.TensorParallel*in.PipelineParallel > accelerators {
			f.text("--distributed-executor-backend", "ray")
		}
		if in.DataParallel > 1 {
			f.text("--data-parallel-backend", "ray")
		}
		notes = append(notes, fmt.Sprintf("first on one node: ray start --head --port=6379; on the other %d: ray start --address=HEAD:6379; then this on the head alone", n-1))
	}
	f.count("--max-model-len", in.MaxModelLen)
	f.count("--max-num-seqs", in.MaxNumSeqs)
	f.count("--max-num-batched-tokens", in.MaxNumBatchedTokens)
	switch {
	case !own:
	case d.Plan.Memory.Given && d.since(0, 11):
		f.text("--kv-cache-memory-bytes", strconv.FormatInt(d.Plan.Memory.KVCacheBytes, 10))
	default:
		f.number("--gpu-memory-utilization", in.GPUMemoryUtilization)
	}
	if own {
		f.count("--block-size", in.BlockSize)
	}
	notes = append(notes, d.formats(&f, "fp8")...)
	return f, append(notes, d.planned("vllm")...)
}

// sglang writes SGLang's launch_server. Flags: SGLang
// python/sglang/srt/server_args.py. Its static fraction is the share of the
// memory that weights and cache take together.
func sglang(d Deployment) ([]string, []string) {
	in, m := d.Plan.Inputs, d.Plan.Memory
	f := flags{"python", "-m", "sglang.launch_server", "--model-path", d.loads()}
	f.count("--tp-size", in.TensorParallel*max(1, in.DataParallel)) // all ranks, of which attention's are a part
	if in.DataParallel > 1 {
		f.count("--dp-size", in.DataParallel)
		f = append(f, "--enable-dp-attention")
	}
	if in.ExpertParallel > 1 {
		f.count("--ep-size", in.ExpertParallel)
	}
	if in.PipelineParallel > 1 {
		f.count("--pp-size", in.PipelineParallel)
	}
	notes := d.template()
	if n := d.nodes(); n > 1 {
		f.count("--nnodes", n)
		f.count("--node-rank", 0)
		f.text("--dist-init-addr", "HEAD:5000")
		notes = append(notes, fmt.Sprintf("the same on each node, with --node-rank 0 to %d; HEAD is the address of the first", n-1))
	}
	f.count("--context-length", in.MaxModelLen)
	f.count("--max-running-requests", in.MaxNumSeqs)
	f.count("--chunked-prefill-size", in.MaxNumBatchedTokens)
	static := float64(m.WeightsBytes+m.KVCacheBytes) / float64(m.TotalBytes)
	f.number("--mem-fraction-static", math.Floor(static*1000)/1000)
	if d.engine() == "sglang" {
		f.count("--page-size", in.BlockSize)
	}
	notes = append(notes, d.formats(&f, "fp8_e4m3")...)
	f = append(f, "--enable-metrics")
	return f, append(notes, d.planned("sglang")...)
}

// llmctl writes `llmctl serve`, which has weights for one model: for any other
// it stands in with the plan's limits, to try clients, gateway and dashboards on.
func llmctl(d Deployment) ([]string, []string) {
	in := d.Plan.Inputs
	f := flags{"llmctl", "serve", "--model", profiles.BuiltinModel}
	var notes []string
	if d.Model.Name != profiles.BuiltinModel {
		f.text("--served-model-name", d.loads())
		notes = append(notes, fmt.Sprintf("llmctl serves its builtin model only: this stands in for %s with the plan's limits, on a CPU", d.Model.Name))
	} else {
		f.count("--max-model-len", in.MaxModelLen)
		if d.Plan.Memory.Given {
			f.text("--kv-cache-memory", strconv.FormatInt(d.Plan.Memory.KVCacheBytes, 10))
		}
	}
	f.count("--max-num-seqs", in.MaxNumSeqs)
	f.count("--max-num-batched-tokens", in.MaxNumBatchedTokens)
	f.count("--block-size", in.BlockSize)
	return f, notes
}

// formats adds what both engines call alike: the cache's format, 16-bit floats
// where they are not the model's, and quantization at load.
func (d Deployment) formats(f *flags, fp8 string) []string {
	in := d.Plan.Inputs
	switch name := floats[in.KVDType]; {
	case in.KVDType == "fp8":
		f.text("--kv-cache-dtype", fp8)
	case name != "" && d.Model.Quantization.KV != "":
		f.text("--kv-cache-dtype", name) // the checkpoint declares another
	}
	if in.WeightDType == d.Model.Quantization.Method && in.WeightDType != "" {
		return nil // the checkpoint says
	}
	if name := floats[in.WeightDType]; name != "" {
		if in.WeightDType != d.Model.DType {
			f.text("--dtype", name)
		}
		return nil
	}
	if in.WeightDType == "fp8" {
		f.text("--quantization", "fp8") // at load, from 16-bit weights
		return nil
	}
	return []string{fmt.Sprintf("%s weights come from a checkpoint that is quantized so: name its repository instead of %s", in.WeightDType, d.loads())}
}

// floats are the engines' names of unquantized formats.
var floats = map[string]string{"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}

// planned warns of flags for another engine than the plan's.
func (d Deployment) planned(engine string) []string {
	if d.engine() == engine {
		return nil
	}
	return []string{fmt.Sprintf("the plan is for %s, whose memory differs: plan with --engine %s before you rely on this", d.Plan.Inputs.Engine, engine)}
}

// since reports whether the plan's engine is at least of a version.
func (d Deployment) since(major, minor int) bool {
	_, version, _ := strings.Cut(d.Plan.Inputs.Engine, "@")
	var a, b int
	if n, _ := fmt.Sscanf(version, "%d.%d", &a, &b); n == 0 {
		return true // a version of the user's own
	}
	return a > major || a == major && b >= minor
}
