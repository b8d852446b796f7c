package sizing

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// checkParallel reports why a model can not be spread over tensor × pipeline
// accelerators, in one line; nil when it can. Heads are divided among ranks;
// KV heads are divided or copied whole; the vocabulary, padded to a multiple of
// 64, and the width of MLPs are divided (vLLM's parallel linear and vocabulary
// embedding layers).
func checkParallel(m *profiles.Model, tensor, pipeline int) error {
	switch {
	case tensor < 1 || tensor > 1024:
		return fmt.Errorf("--tp %d is outside 1 to 1024", tensor)
	case pipeline < 1 || pipeline > len(m.Layers):
		return fmt.Errorf("--pp %d is outside 1 to the %d layers of %s", pipeline, len(m.Layers), m.Name)
	}
	if wrong := indivisible(m, tensor); len(wrong) > 0 {
		return fmt.Errorf("--tp %d does not divide %s of %s%s", tensor, strings.Join(wrong, " and "), m.Name, validDegrees(m))
	}
	return nil
}

// indivisible names what a tensor-parallel degree does not divide, each once,
// with its field of config.json.
func indivisible(m *profiles.Model, tensor int) []string {
	var wrong []string
	refuse := func(text string, args ...any) {
		if text = fmt.Sprintf(text, args...); !slices.Contains(wrong, text) {
			wrong = append(wrong, text)
		}
	}
	for _, layer := range m.Layers {
		a := layer.Attention
		if a.Heads%tensor != 0 {
			refuse("the %d attention heads (num_attention_heads)", a.Heads)
		}
		if a.Kind != profiles.LatentAttention && a.KVHeads > 0 && a.KVHeads%tensor != 0 && tensor%a.KVHeads != 0 {
			refuse("the %d KV heads (num_key_value_heads; nor is it a multiple of them)", a.KVHeads)
		}
		if a.State.Heads%tensor != 0 {
			refuse("the %d heads of the recurrent state", a.State.Heads)
		}
		if n := layer.MLP.Intermediate; n%tensor != 0 {
			refuse("the MLP width %d (intermediate_size)", n)
		}
	}
	if padded := ceilDiv(m.VocabSize, 64) * 64; padded%tensor != 0 {
		refuse("the padded vocabulary %d (vocab_size)", padded)
	}
	return wrong
}

// checkRanks reports why a replica can not have the asked ranks of experts and
// of data. vLLM divides whole experts among all tensor × data ranks
// (--enable-expert-parallel), or the width of each expert among the same.
func checkRanks(m *profiles.Model, in Inputs) error {
	ranks := in.TensorParallel * in.DataParallel
	experts, width := widestExperts(m)
	switch {
	case in.DataParallel > 1024:
		return fmt.Errorf("--dp %d is outside 1 to 1024", in.DataParallel)
	case in.ExpertParallel > 1 && experts == 0:
		return fmt.Errorf("--ep %d: %s has no experts to divide", in.ExpertParallel, m.Name)
	case in.ExpertParallel > 1 && in.ExpertParallel != ranks:
		return fmt.Errorf("--ep %d is not --tp × --dp = %d: experts are divided among all ranks of a replica or not at all", in.ExpertParallel, ranks)
	case in.ExpertParallel > experts && experts > 0:
		return fmt.Errorf("--ep %d is more than the %d experts of %s", in.ExpertParallel, experts, m.Name)
	case in.ExpertParallel <= 1 && width%ranks != 0:
		return fmt.Errorf("--tp × --dp = %d does not divide the experts' width %d (moe_intermediate_size) of %s; --ep %d divides whole experts instead", ranks, width, m.Name, ranks)
	}
	return nil
}

// warnBlocks says where scales in blocks do not lie along the ranks' borders, for
// which vLLM and SGLang refuse block-quantized fp8 ("not divisible by weight
// quantization block_n").
func (s *situation) warnBlocks() {
	in, q := s.inputs, s.format.Quantization
	if q.Method != "fp8" || q.GroupSize == 0 || s.engine.Name != "vllm" && s.engine.Name != "sglang" {
		return
	}
	_, width := widestExperts(s.model)
	if ranks := in.TensorParallel * in.DataParallel; in.ExpertParallel <= 1 && width/ranks%q.GroupSize != 0 {
		s.warn("quantization-blocks", "the experts' width %d on %d ranks is no multiple of the blocks of %d weights that share a scale: "+
			"the engine may refuse it; --ep %d divides whole experts instead",
			width, ranks, q.GroupSize, ranks)
	}
}

// widestExperts are the largest number and width of routed experts in a layer.
func widestExperts(m *profiles.Model) (experts, width int) {
	for _, layer := range m.Layers {
		experts, width = max(experts, layer.MLP.Experts), max(width, layer.MLP.ExpertIntermediate)
	}
	return experts, width
}

// validDegrees names the powers of two that would do.
func validDegrees(m *profiles.Model) string {
	text := ""
	for _, t := range []int{1, 2, 4, 8, 16, 32, 64} {
		if len(indivisible(m, t)) == 0 {
			text += fmt.Sprintf(", %d", t)
		}
	}
	if text == "" {
		return ""
	}
	return "; possible: " + text[2:]
}
