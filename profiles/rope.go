package profiles

import "strings"

// extendWindow applies a scaling of the rotary embedding that its user added to
// a published config, as engines do (vLLM config/model.py): yarn reaches
// original_max_position_embeddings × factor positions, linear and dynamic scaling
// max_position_embeddings × factor. Publishers who trained with a scaling state
// the extended window already, as do the kinds longrope and llama3, and Gemma 3.
func extendWindow(m *Model, scaling *config) {
	factor := ropeFactor(scaling)
	reach := 0.0
	switch {
	case strings.HasPrefix(m.Type, "gemma3"):
		return
	case m.RopeScaling == "yarn":
		original, ok := scaling.count(1, maxTokens, "original_max_position_embeddings")
		if !ok {
			original = m.MaxPositions
		}
		reach = float64(original) * factor
	case m.RopeScaling == "linear" || m.RopeScaling == "dynamic":
		reach = float64(m.MaxPositions) * factor
	}
	if reach > maxTokens {
		scaling.refuse("factor", "%g makes a window of %.3g tokens, more than %d", factor, reach, maxTokens)
		return
	}
	if reach > float64(m.MaxPositions) {
		m.TrainedPositions, m.MaxPositions = m.MaxPositions, int(reach)
	}
}

// ropeFactor reads how far a scaling stretches positions. It is at least 1
// (transformers, modeling_rope_utils.py); the largest published are below 1,000.
func ropeFactor(scaling *config) float64 {
	factor := scaling.number(1, "factor")
	if !(factor >= 1 && factor <= 1e6) {
		scaling.refuse("factor", "%g is outside 1 to 1,000,000", factor)
		return 1
	}
	return factor
}
