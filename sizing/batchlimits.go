package sizing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/sizing/shape"
)

// fewestBatched is the smallest token budget of a step that is planned for: with
// less, each step computes next to nothing for a reading of all weights, and the
// plan would be about a typing error.
const fewestBatched = 16

// likeVLLM reports whether an engine has vLLM's scheduler.
func (s *situation) likeVLLM() bool {
	return slices.Contains([]string{"vllm", "aphrodite", "llmctl"}, s.engine.Name)
}

// defaultSeqs is the default of max_num_seqs. vLLM lowers its own to a token budget
// that the user gives (EngineArgs, vllm/engine/arg_utils.py).
func (s *situation) defaultSeqs(fallback int, r Request) int {
	if s.likeVLLM() && r.MaxNumBatchedTokens > 0 {
		return min(fallback, r.MaxNumBatchedTokens)
	}
	return fallback
}

// checkBatch refuses limits of a batch that the engine does not start with.
func (s *situation) checkBatch(r Request) error {
	in := &s.inputs
	if s.likeVLLM() && in.MaxNumBatchedTokens < in.MaxNumSeqs {
		// SchedulerConfig, vllm/config/scheduler.py.
		if r.MaxNumBatchedTokens > 0 {
			return fmt.Errorf("--max-num-batched-tokens %d is less than --max-num-seqs %d, with which %s does not start: each sequence needs a token of a step; possible: %d or more",
				in.MaxNumBatchedTokens, in.MaxNumSeqs, s.engine.Name, in.MaxNumSeqs)
		}
		return fmt.Errorf("--max-num-seqs %d is more than the %d tokens of a step, with which %s does not start; possible: up to %d, or --max-num-batched-tokens %d",
			in.MaxNumSeqs, in.MaxNumBatchedTokens, s.engine.Name, in.MaxNumBatchedTokens, in.MaxNumSeqs)
	}
	if r.BlockSize > 0 {
		return s.checkBlock(r.BlockSize)
	}
	return nil
}

// vllmBlocks are the block sizes that vLLM's --block-size takes (BlockSize in
// vllm/config/cache.py). Which of them an attention backend has kernels for
// differs.
var vllmBlocks = []int{1, 8, 16, 32, 64, 128, 256}

// checkBlock refuses a block size that the engine has no kernels for. A model with
// states has blocks of its own, in multiples of 16, that the engine chooses.
func (s *situation) checkBlock(n int) error {
	possible := ""
	switch s.engine.Name {
	case "vllm", "aphrodite":
		if !slices.Contains(vllmBlocks, n) && (shape.StateBytes(s.model, shape.BF16, 1) == 0 || n%16 != 0) {
			possible = strings.Trim(strings.ReplaceAll(fmt.Sprint(vllmBlocks), " ", ", "), "[]")
		}
	case "tensorrt-llm":
		// "tokens_per_block must be a power of 2" (TensorRT-LLM, docs on KV cache reuse).
		if n&(n-1) != 0 {
			possible = "powers of two such as 16, 32, 64 or 128"
		}
	}
	if possible == "" {
		return nil
	}
	return fmt.Errorf("--block-size %d is not among those that %s takes; possible: %s", n, s.engine.Name, possible)
}
