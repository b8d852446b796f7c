package sizing

import (
	"fmt"

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
	for _, layer := range m.Layers {
		a := layer.Attention
		switch a.Kind {
		case profiles.NoAttention, profiles.LinearAttention:
			continue
		}
		if a.Heads%tensor != 0 {
			return fmt.Errorf("--tp %d does not divide the %d attention heads of %s%s", tensor, a.Heads, m.Name, validDegrees(m))
		}
		if a.Kind != profiles.LatentAttention && a.KVHeads%tensor != 0 && tensor%a.KVHeads != 0 {
			return fmt.Errorf("--tp %d neither divides the %d KV heads of %s nor is a multiple of them%s", tensor, a.KVHeads, m.Name, validDegrees(m))
		}
		if n := layer.MLP.Intermediate; n%tensor != 0 {
			return fmt.Errorf("--tp %d does not divide the MLP width %d of %s%s", tensor, n, m.Name, validDegrees(m))
		}
	}
	if padded := ceilDiv(m.VocabSize, 64) * 64; padded%tensor != 0 {
		return fmt.Errorf("--tp %d does not divide the padded vocabulary %d of %s%s", tensor, padded, m.Name, validDegrees(m))
	}
	return nil
}

// validDegrees names the powers of two that would do.
func validDegrees(m *profiles.Model) string {
	text := ""
	for _, t := range []int{1, 2, 4, 8, 16} {
		if dividesHeads(m, t) {
			text += fmt.Sprintf(", %d", t)
		}
	}
	if text == "" {
		return ""
	}
	return "; possible: " + text[2:]
}

// dividesHeads is the rule of heads alone, enough for a hint.
func dividesHeads(m *profiles.Model, tensor int) bool {
	for _, layer := range m.Layers {
		a := layer.Attention
		if a.Heads > 0 && (a.Heads%tensor != 0 || a.KVHeads%tensor != 0 && tensor%a.KVHeads != 0) {
			return false
		}
	}
	return true
}
