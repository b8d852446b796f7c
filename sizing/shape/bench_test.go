package shape

import (
	"testing"
)

// BenchmarkWeights is the longest list of modules and of patterns.
func BenchmarkWeights(b *testing.B) {
	for _, name := range []string{"llama-3.1-8b", "deepseek-v3", "deepseek-v3.2-nvfp4", "glm-5.1-fp8"} {
		m := load(b, name)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Weights(m, FormatOf(m))
			}
		})
	}
}
