package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// cacheTerm is what the layers of a kind cache for one token.
func cacheTerm(k kvKind, d shape.DType) string {
	a := k.like
	if a.Kind != profiles.LatentAttention {
		heads := fmt.Sprintf("%d × %s", a.KVHeads, headTerm(d, a.HeadDim, a.ValueDim))
		if a.IndexDim > 0 {
			heads = fmt.Sprintf("(%s + %s of index)", heads, headTerm(d, a.IndexDim))
		}
		return fmt.Sprintf("%d × %s", k.layers, heads)
	}
	if a.IndexDim == 0 {
		return fmt.Sprintf("%d × %s", k.layers, latentTerm(d, a))
	}
	index := a.IndexDim + a.IndexDim/128*4
	if d == shape.FP8 {
		return fmt.Sprintf("%d × (%d × 1 B + %d × 4 B of scales + %d × 2 B + %d B of index)", k.layers, a.LatentRank, a.LatentRank/128, a.RopeHeadDim, index)
	}
	return fmt.Sprintf("%d × (%s + %d B of index)", k.layers, latentTerm(d, a), index)
}

// headTerm is the bytes of vectors of one head: those of keys and of values,
// with the scales of formats that have them for each vector.
func headTerm(d shape.DType, widths ...int) string {
	sum, scales := "", ""
	for i, n := range widths {
		if i > 0 {
			sum += " + "
			scales += " + "
		}
		sum += fmt.Sprint(n)
		scales += fmt.Sprintf("⌈%d ÷ 2⌉ B + ⌈%d ÷ 16⌉ B", n, n)
	}
	switch d {
	case shape.NVFP4:
		return "(" + scales + ")"
	case shape.INT8, shape.FP8PerHead:
		return fmt.Sprintf("(%s + %d × 4) × 1 B", sum, len(widths))
	}
	if len(widths) == 1 {
		return fmt.Sprintf("%s × %d B", sum, d.Bytes())
	}
	return fmt.Sprintf("(%s) × %d B", sum, d.Bytes())
}

func latentTerm(d shape.DType, a profiles.Attention) string {
	switch d {
	case shape.NVFP4, shape.INT8, shape.FP8PerHead:
		return headTerm(d, a.LatentRank+a.RopeHeadDim)
	}
	return fmt.Sprintf("(%d + %d) × %d B", a.LatentRank, a.RopeHeadDim, d.Bytes())
}
