package shape

import "github.com/llmctl/llmctl/profiles"

// LayerKVBytes is what one layer caches per token on one of tensor ranks.
// Heads are divided among ranks, and copied where there are more ranks than
// heads; a latent vector is not divided. A sparse-attention index keeps one
// fp8 key per token with one float32 scale per 128 values (DeepSeek-V3.2); with
// it, an fp8 latent cache takes 656 bytes: 512 values, 4 scales, and the rotary
// part in bf16 (vLLM, fp8_ds_mla).
func LayerKVBytes(a profiles.Attention, d DType, tensor int) int64 {
	if a.ReusedKV {
		return 0
	}
	switch a.Kind {
	case profiles.NoAttention, profiles.LinearAttention, profiles.CrossAttention:
		return 0
	case profiles.LatentAttention:
		index := int64(a.IndexDim) + int64(a.IndexDim)/128*4
		if a.IndexDim > 0 && d == FP8 {
			return int64(a.LatentRank) + int64(a.LatentRank)/128*4 + 2*int64(a.RopeHeadDim) + index
		}
		return int64(a.LatentRank+a.RopeHeadDim)*d.Bytes() + index
	}
	heads := int64(max(1, a.KVHeads/max(1, tensor)))
	return heads * int64(a.HeadDim+a.ValueDim) * d.Bytes()
}

// KVBytesPerToken is what all layers cache for one token inside their windows,
// on one of tensor ranks. For the whole model, tensor is 1.
func KVBytesPerToken(m *profiles.Model, d DType, tensor int) int64 {
	var sum int64
	for _, layer := range m.Layers {
		sum += LayerKVBytes(layer.Attention, d, tensor)
	}
	return sum
}

// GrowingKVBytesPerToken is what one more token adds beyond all windows: the
// part of KVBytesPerToken in layers that remember everything.
func GrowingKVBytesPerToken(m *profiles.Model, d DType, tensor int) int64 {
	var sum int64
	for _, layer := range m.Layers {
		if layer.Attention.Window == 0 {
			sum += LayerKVBytes(layer.Attention, d, tensor)
		}
	}
	return sum
}

// KVBytes is the cache of one sequence of the given length, windows applied.
func KVBytes(m *profiles.Model, d DType, tensor, tokens int) int64 {
	var sum int64
	for _, layer := range m.Layers {
		held := tokens
		if w := layer.Attention.Window; w > 0 {
			held = min(held, w)
		}
		sum += LayerKVBytes(layer.Attention, d, tensor) * int64(held)
	}
	return sum
}
