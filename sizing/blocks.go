package sizing

import "github.com/llmctl/llmctl/profiles"

// blocksOn is how many blocks a pool holds on a pipeline stage; a stage that
// caches nothing does not limit the others.
func (l layout) blocksOn(stage int, pool int64) int64 {
	if pool <= 0 {
		return 0
	}
	return pool / max(1, l.stages[stage])
}

// perRequest is how many blocks a request of a length takes at its peak. A
// window's blocks come and go, but during prefill a whole step's tokens are
// held beside the window; a window rarely begins at a block's edge, hence + 1.
func (l layout) perRequest(tokens, batchedTokens int) int64 {
	var sum int64
	for _, g := range l.groups {
		held := tokens
		extra := int64(0)
		switch g.kind {
		case profiles.LinearAttention:
			sum += int64(g.stateBlocks)
			continue
		case profiles.SlidingAttention:
			held = min(g.window-1+batchedTokens, tokens)
			extra = 1
		case profiles.ChunkedAttention:
			held = min(g.window+batchedTokens, tokens)
		}
		sum += int64(ceilDiv(held, g.blockTokens)) + extra
	}
	return max(sum, l.slotBlocks)
}

// held is how many of a sequence's tokens a group keeps. Of chunked attention
// that is the current chunk (vLLM v1/core/single_type_kv_cache_manager.py,
// ChunkedLocalAttentionManager), half of one on average beyond the first.
func (g kvGroup) held(tokens float64) float64 {
	window := float64(g.window)
	switch {
	case g.window == 0 || tokens <= window:
		return tokens
	case g.kind == profiles.ChunkedAttention:
		return window / 2
	}
	return window
}

// shared is how many of the tokens that a sequence holds are of a prefix. A
// window covers the last tokens, a chunk on average u of them, with u from 0 to
// the chunk.
func (g kvGroup) shared(prefix, tokens float64) float64 {
	window, own := float64(g.window), tokens-prefix
	switch {
	case g.window == 0 || tokens <= window:
		return prefix
	case own >= window:
		return 0
	case g.kind == profiles.ChunkedAttention:
		return (window - own) * (window - own) / (2 * window)
	}
	return window - own
}

// average is how many blocks a decoding sequence of a mean length holds, with
// half a block per group for the one that is being filled. A state is there in
// full from the first token.
func (l layout) average(tokens float64) float64 {
	sum := 0.0
	for _, g := range l.groups {
		if g.kind == profiles.LinearAttention {
			sum += float64(g.stateBlocks)
			continue
		}
		sum += g.held(tokens)/float64(g.blockTokens) + 0.5
	}
	return max(sum, float64(l.slotBlocks))
}

// prefix is how many blocks the cache keeps of tokens that sequences share: the
// tokens in whole blocks, and the state behind them.
func (l layout) prefix(tokens float64) float64 {
	sum := l.shared(tokens, tokens)
	for _, g := range l.groups {
		sum += float64(g.stateBlocks)
	}
	return max(sum, float64(l.slotBlocks))
}

// shared is how many of the blocks of a sequence are of a prefix that others have
// too.
func (l layout) shared(prefix, tokens float64) float64 {
	sum := 0.0
	for _, g := range l.groups {
		if g.kind != profiles.LinearAttention {
			sum += g.shared(prefix, tokens) / float64(g.blockTokens)
		}
	}
	return sum
}

// maxConcurrency is how many requests of a length fit at once.
func (l layout) maxConcurrency(blocks int64, tokens, batchedTokens int) float64 {
	return float64(blocks) / float64(l.perRequest(tokens, batchedTokens))
}

// tokens is what the engine logs as its cache's size in tokens. With several
// kinds of layers it is neither pool ÷ bytes per token nor what fits.
func (l layout) tokens(rule profiles.TokenRule, blocks int64, maxModelLen, batchedTokens int) int64 {
	if rule == profiles.TokensByConcurrency {
		return int64(l.maxConcurrency(blocks, maxModelLen, batchedTokens) * float64(maxModelLen))
	}
	return blocks / int64(len(l.groups)) * int64(l.smallestBlock(maxModelLen))
}

// smallestBlock is the fewest tokens that a block of any group holds; the block
// of a state holds the longest request.
func (l layout) smallestBlock(maxModelLen int) int {
	smallest := maxModelLen
	for _, g := range l.groups {
		if g.kind != profiles.LinearAttention {
			smallest = min(smallest, g.blockTokens)
		}
	}
	return smallest
}

// longest is the longest request that fits alone, at most limit tokens.
func (l layout) longest(blocks int64, limit, batchedTokens int) int {
	low, high := 0, limit
	for low < high {
		middle := (low + high + 1) / 2
		if l.perRequest(middle, batchedTokens) <= blocks {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
