package attention

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// attending measures one layer of a step on one core, in the shape of SmolLM2-135M.
func attending(b *testing.B, d DType, sequences, context, shared, tokens int) {
	const size = 16
	s := shape(3, 3, 64, 0)
	r := rand.New(rand.NewPCG(1, 1))
	per := kv.BlocksFor(context, size)
	c := New(s, d, sequences*per, size)
	all := make([]*model.Sequence, sequences)
	key := random(r, s.Keys())
	for i := range all {
		q := &model.Sequence{Start: context - tokens, Tokens: make([]int32, tokens)}
		for j := range per {
			if j < shared/size {
				q.Blocks = append(q.Blocks, kv.Block(j))
			} else {
				q.Blocks = append(q.Blocks, kv.Block(i*per+j))
			}
		}
		for p := range context {
			c.Write(0, q.Blocks, p, key, key)
		}
		all[i] = q
	}
	n := s.Queries()
	rows := &Rows{Queries: random(r, sequences*tokens*n), QueryStride: n, Out: make([]float32, sequences*tokens*n), OutStride: n}
	p := c.NewPlan(1)
	p.Set(all)
	var scratch Scratch
	for b.Loop() {
		for i := range p.Items(0) {
			p.Attend(0, i, rows, &scratch)
		}
	}
	pairs := 0 // of queries and positions
	for i := range tokens {
		pairs += sequences * (context - i) * s.Heads
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(2*pairs*s.HeadDim)/seconds/1e9, "GMAC/s")
	b.ReportMetric(float64(sequences*context*BytesPerToken(s, d))/seconds/1e9, "GB/s-of-KV")
	b.ReportMetric(float64(sequences*tokens)/seconds, "tokens/s/layer")
	b.ReportMetric(0, "ns/op")
}

func BenchmarkDecode(b *testing.B) {
	for _, d := range dtypes {
		for _, c := range []struct{ sequences, context, shared int }{
			{1, 512, 0}, {1, 4096, 0}, {1, 32768, 0}, {16, 608, 0}, {16, 608, 512}, {16, 4096, 0}, {16, 4096, 4096},
		} {
			b.Run(fmt.Sprintf("%s/sequences=%d,context=%d,shared=%d", d, c.sequences, c.context, c.shared), func(b *testing.B) {
				attending(b, d, c.sequences, c.context, c.shared, 1)
			})
		}
	}
}

func BenchmarkPrefill(b *testing.B) {
	for _, d := range dtypes {
		b.Run(d.String()+"/2048", func(b *testing.B) { attending(b, d, 1, 2048, 0, 2048) })
	}
}
