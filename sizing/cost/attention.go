package cost

import (
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// KVKind is what layers of one kind cache on one rank, and how a token attends to
// it. Widths are sums over the layers of heads × the operand widths of their two
// products, so that a token costs 2·width operations per token that it attends to.
type KVKind struct {
	BytesPerToken float64
	Window        int  // tokens that a token attends to at most; 0 is unbounded
	Chunked       bool // Window is a chunk: a token sees the chunk's tokens before it
	Selected      int  // tokens that an index lets a token attend to; 0 is all of them
	Index         bool // keys of such an index, which all are scored, in 8 bits

	Width       float64 // of prompts
	DecodeWidth float64 // of decodes
}

// attend adds one layer. Query heads are divided among the tensor ranks, the heads
// of an index are not.
//
// Latent attention (MLA) expands the latent vectors of a prompt to keys and
// values. A decode would expand its whole context for one query; engines instead
// absorb the expansion into query and output (DeepSeek-V2, arXiv 2405.04434 §2.1),
// and multiply with the latent vector: rank and rotary part for the score, rank for
// the value.
func (f *Facts) attend(a profiles.Attention, kv shape.DType) {
	switch a.Kind {
	case profiles.LinearAttention, profiles.NoAttention, profiles.CrossAttention:
		return
	}
	heads := float64(a.Heads) / float64(f.Tensor)
	index := 0.0
	if !a.ReusedKV {
		index = float64(shape.LayerIndexBytes(a, kv))
	}
	k := KVKind{
		BytesPerToken: float64(shape.LayerKVBytes(a, kv, f.Tensor)) - index,
		Window:        a.Window, Chunked: a.Kind == profiles.ChunkedAttention, Selected: a.Selected,
		Width: heads * float64(a.HeadDim+a.ValueDim),
	}
	k.DecodeWidth = k.Width
	if a.Kind == profiles.LatentAttention {
		k.DecodeWidth = heads * float64(2*a.LatentRank+a.RopeHeadDim)
	}
	f.addKV(k)
	if index > 0 {
		k := KVKind{BytesPerToken: index, Index: true}
		if !a.IndexReused {
			k.Width = float64(a.IndexHeads * a.IndexDim)
			k.DecodeWidth = k.Width
		}
		f.addKV(k)
	}
}

// addKV adds a layer to the kind that attends alike. An index that is not scored
// stays apart: its keys are held, and not read.
func (f *Facts) addKV(k KVKind) {
	for i := range f.KV {
		h := &f.KV[i]
		if h.Window == k.Window && h.Chunked == k.Chunked && h.Selected == k.Selected && h.Index == k.Index && (h.Width > 0) == (k.Width > 0) {
			h.BytesPerToken += k.BytesPerToken
			h.Width += k.Width
			h.DecodeWidth += k.DecodeWidth
			return
		}
	}
	f.KV = append(f.KV, k)
}

// visible is how many of context tokens the window of a token lets it see. A
// chunk is half full on average once it is not the first.
func (k *KVKind) visible(context float64) float64 {
	w := float64(k.Window)
	switch {
	case k.Window == 0 || context <= w:
		return context
	case k.Chunked:
		return w / 2
	}
	return w
}

// read is how many cached tokens a decode after context others attends to.
func (k *KVKind) read(context float64) float64 {
	return k.gathered(context, 1)
}

// gathered is how many tokens of a context several new ones read together.
func (k *KVKind) gathered(context, tokens float64) float64 {
	switch {
	case k.Index && k.Width == 0:
		return 0
	case k.Selected > 0:
		return min(k.visible(context), tokens*float64(k.Selected))
	}
	return k.visible(context)
}

// written is how many of new tokens a step brings to the cache at most.
func (k *KVKind) written(tokens float64) float64 {
	if k.Window > 0 {
		return min(tokens, float64(k.Window))
	}
	return tokens
}

// KVBytes is what one rank holds of the cache of a sequence.
func (f Facts) KVBytes(context float64) float64 {
	sum := 0.0
	for i := range f.KV {
		k := &f.KV[i]
		sum += float64(k.BytesPerToken * k.visible(context))
	}
	return sum
}

// pairs is the number of pairs of one of tokens new ones after context others
// and a token that it attends to, of a prompt: the integral of what each sees.
//
// What an index selects can be gathered and attended to in the latent space, or
// all of a prompt in the expanded one, masked (DeepSeek-V3.2's report, arXiv
// 2512.02556 §2.1): the cheaper of the two bounds what a token attends to.
func (k *KVKind) pairs(context, tokens float64) float64 {
	if tokens <= 0 {
		return 0
	}
	most := float64(k.Window)
	switch {
	case k.Selected > 0:
		most = float64(k.Selected) * k.DecodeWidth / k.Width
	case k.Window == 0:
		return tokens * (context + float64(tokens/2))
	case k.Chunked:
		return chunked(context+tokens, most) - chunked(context, most)
	}
	return capped(context+tokens, most) - capped(context, most)
}

// capped is the integral of min(x, most) from 0 to n.
func capped(n, most float64) float64 {
	if n <= most {
		return n * n / 2
	}
	return float64(most*most/2) + float64(most*(n-most))
}

// chunked is the integral of x mod chunk from 0 to n.
func chunked(n, chunk float64) float64 {
	whole := float64(int(n / chunk))
	rest := n - float64(whole*chunk)
	return float64(whole*chunk*chunk/2) + float64(rest*rest/2)
}
