package profiles

import (
	"fmt"
	"testing"
)

// TestExtendedWindow: what a user adds to a published config counts, what the
// publisher states already does not.
func TestExtendedWindow(t *testing.T) {
	const config = `{"architectures": ["%s"], "model_type": "%s", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
		"num_hidden_layers": 2, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": %d, "rope_scaling": %s}`
	for name, tc := range map[string]struct {
		kind           string
		positions      int
		scaling        string
		window, before int
	}{
		"yarn added by the user":    {"qwen2", 32768, `{"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}`, 131072, 32768},
		"yarn of the publisher":     {"qwen2", 131072, `{"rope_type": "yarn", "factor": 32.0, "original_max_position_embeddings": 4096}`, 131072, 0},
		"yarn without the original": {"qwen2", 32768, `{"rope_type": "yarn", "factor": 2}`, 65536, 32768},
		"linear":                    {"llama", 4096, `{"type": "linear", "factor": 4.0}`, 16384, 4096},
		"dynamic":                   {"llama", 4096, `{"type": "dynamic", "factor": 2.0}`, 8192, 4096},
		"llama3":                    {"llama", 131072, `{"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}`, 131072, 0},
		"none":                      {"llama", 4096, `null`, 4096, 0},
	} {
		t.Run(name, func(t *testing.T) {
			architecture := map[string]string{"qwen2": "Qwen2ForCausalLM", "llama": "LlamaForCausalLM"}[tc.kind]
			m, err := ParseModel("x", fmt.Appendf(nil, config, architecture, tc.kind, tc.positions, tc.scaling))
			if err != nil {
				t.Fatal(err)
			}
			if m.MaxPositions != tc.window || m.TrainedPositions != tc.before {
				t.Errorf("window %d, trained %d, want %d and %d", m.MaxPositions, m.TrainedPositions, tc.window, tc.before)
			}
		})
	}
}

// TestBuiltInWindowsAreTheirPublishers: no built-in config was edited by a user.
func TestBuiltInWindowsAreTheirPublishers(t *testing.T) {
	for _, name := range ModelNames() {
		m, err := LoadModel(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.TrainedPositions != 0 {
			t.Errorf("%s: trained for %d of %d positions", name, m.TrainedPositions, m.MaxPositions)
		}
	}
}
