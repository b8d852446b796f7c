package load_test

import (
	"testing"

	"github.com/llmctl/llmctl/engine/cpu"
	"github.com/llmctl/llmctl/engine/cpu/attention"
	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/model"
)

// After every beginning of the text, the executor takes the token that is likeliest
// by transformers.
func TestExecutorTakesTheTokensOfTransformers(t *testing.T) {
	for _, c := range folders {
		t.Run(c.name, func(t *testing.T) {
			m := open(t, folder(t, c.name, c.weights), load.Options{MaxModelLen: c.positions})
			tokens, want := golden(t, c.name)
			e, err := cpu.New(m.Weights, cpu.Config{Blocks: 16, BlockSize: 4, Workers: 1, KV: attention.Float32})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			var blocks []kv.Block
			for i := range 6 {
				blocks = append(blocks, kv.Block(2*i+1))
			}
			for n := range tokens {
				s := &model.Sequence{Tokens: tokens[n : n+1], Start: n, Blocks: blocks, Sample: true}
				if err := e.Execute([]*model.Sequence{s}); err != nil {
					t.Fatal(err)
				}
				best := 0
				for i, v := range want[n] {
					if v > want[n][best] {
						best = i
					}
				}
				if int(s.Next) != best {
					t.Errorf("after token %d: %d, want %d", n, s.Next, best)
				}
			}
		})
	}
}
