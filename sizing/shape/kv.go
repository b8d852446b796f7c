package shape

import "github.com/llmctl/llmctl/profiles"

// LayerKVBytes is what one layer caches per token on one of tensor ranks.
// Heads are divided among ranks, and copied where there are more ranks than
// heads; a latent vector is not divided. A sparse-attention index keeps one
// fp8 key per token with one float32 scale per 128 values (DeepSeek-V3.2); with
// it, an fp8 latent cache takes 656 bytes: 512 values, 4 scales, and the rotary
// part in bf16 (vLLM, fp8_ds_mla). Compressed attention's answer is a token of
// its window; LayerCompressedBytes is the rest.
func LayerKVBytes(a profiles.Attention, d DType, tensor int) int64 {
	if a.ReusedKV {
		return 0
	}
	switch a.Kind {
	case profiles.NoAttention, profiles.LinearAttention, profiles.CrossAttention:
		return 0
	case profiles.CompressedAttention:
		return compressedVector(a)
	case profiles.LatentAttention:
		index := indexKey(a)
		if a.IndexDim > 0 && d == FP8 {
			return int64(a.LatentRank) + int64(a.LatentRank)/128*4 + 2*int64(a.RopeHeadDim) + index
		}
		return d.HeadBytes(int64(a.LatentRank+a.RopeHeadDim)) + index
	}
	heads := int64(max(1, a.KVHeads/max(1, tensor)))
	return heads*(d.HeadBytes(int64(a.HeadDim))+d.HeadBytes(int64(a.ValueDim))) + blockIndexKey(a, d)
}

// LayerIndexBytes is the part of LayerKVBytes that is the key of a
// sparse-attention index, 0 without one.
func LayerIndexBytes(a profiles.Attention, d DType) int64 {
	switch a.Kind {
	case profiles.NoAttention, profiles.LinearAttention, profiles.CrossAttention, profiles.CompressedAttention:
		return 0
	case profiles.LatentAttention:
		return indexKey(a)
	}
	return blockIndexKey(a, d)
}

// indexKey is an fp8 key with a float32 scale per 128 values.
func indexKey(a profiles.Attention) int64 { return int64(a.IndexDim) + int64(a.IndexDim)/128*4 }

// blockIndexKey is the key of an index beside grouped-query attention
// (MiniMax-M3), in the cache's type and whole on every rank.
func blockIndexKey(a profiles.Attention, d DType) int64 {
	if a.IndexDim == 0 {
		return 0
	}
	return d.HeadBytes(int64(a.IndexDim))
}

// compressedVector is one cached vector of DeepSeek-V4: fp8, but for the rotary
// part in bf16, and a byte of scale per 64 values with one to align (vLLM,
// 584 bytes for 448 + 64).
func compressedVector(a profiles.Attention) int64 {
	plain := int64(a.HeadDim - a.RopeHeadDim)
	return plain + 2*int64(a.RopeHeadDim) + (plain+63)/64 + 1
}

// LayerCompressedBytes is what a layer of compressed attention caches for each
// group of Compression tokens beside its window, index included; 0 for others.
func LayerCompressedBytes(a profiles.Attention) int64 {
	if a.Kind != profiles.CompressedAttention || a.Compression == 0 {
		return 0
	}
	return compressedVector(a) + indexKey(a)
}

// KVBytesPerToken is what all layers cache for one token inside their windows,
// on one of tensor ranks. For the whole model, tensor is 1.
func KVBytesPerToken(m *profiles.Model, d DType, tensor int) int64 {
	var sum int64
	for _, layer := range m.Layers {
		sum += LayerKVBytes(layer.Attention, d, tensor)
	}
	return sum + compressedPerToken(m)
}

// GrowingKVBytesPerToken is what one more token adds beyond all windows: the
// part of KVBytesPerToken in layers that remember everything, and the share of
// a token in compressed vectors, rounded down.
func GrowingKVBytesPerToken(m *profiles.Model, d DType, tensor int) int64 {
	var sum int64
	for _, layer := range m.Layers {
		if layer.Attention.Window == 0 {
			sum += LayerKVBytes(layer.Attention, d, tensor)
		}
	}
	return sum + compressedPerToken(m)
}

func compressedPerToken(m *profiles.Model) int64 {
	sum := 0.0
	for _, layer := range m.Layers {
		if bytes := LayerCompressedBytes(layer.Attention); bytes > 0 {
			sum += float64(bytes) / float64(layer.Attention.Compression)
		}
	}
	return int64(sum)
}

// KVBytes is the cache of one sequence of the given length, windows applied.
func KVBytes(m *profiles.Model, d DType, tensor, tokens int) int64 {
	var sum int64
	for _, layer := range m.Layers {
		a, held := layer.Attention, tokens
		if a.Window > 0 {
			held = min(held, a.Window)
		}
		sum += LayerKVBytes(a, d, tensor) * int64(held)
		if bytes := LayerCompressedBytes(a); bytes > 0 {
			sum += bytes * int64(tokens/a.Compression)
		}
	}
	return sum
}
