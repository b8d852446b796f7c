package sizing

import (
	"math"
	"testing"

	"github.com/llmctl/llmctl/profiles"
)

// TestHeldTokens compares the closed form of what a group keeps with the rule,
// for chunks token by token over all phases.
func TestHeldTokens(t *testing.T) {
	const window = 8192
	for _, tc := range []struct {
		kind           profiles.AttentionKind
		prefix, tokens float64
		held, shared   float64
	}{
		{profiles.FullAttention, 2000, 30_000, 30_000, 2000},
		{profiles.SlidingAttention, 2000, 5000, 5000, 2000},
		{profiles.SlidingAttention, 29_000, 30_000, window, window - 1000},
		{profiles.SlidingAttention, 2000, 30_000, window, 0},
		{profiles.ChunkedAttention, 2000, 5000, 5000, 2000},
		{profiles.ChunkedAttention, 2000, 30_000, window / 2, 0},
		{profiles.ChunkedAttention, 29_000, 30_000, window / 2, 7192.0 * 7192 / (2 * window)},
	} {
		g := kvGroup{kind: tc.kind, blockTokens: 16}
		if tc.kind != profiles.FullAttention {
			g.window = window
		}
		if held, shared := g.held(tc.tokens), g.shared(tc.prefix, tc.tokens); held != tc.held || math.Abs(shared-tc.shared) > 1e-9 {
			t.Errorf("%s: %v tokens hold %v, of a prefix of %v %v; want %v and %v", tc.kind, tc.tokens, held, tc.prefix, shared, tc.held, tc.shared)
		}
		if tc.kind != profiles.ChunkedAttention || tc.tokens <= window {
			continue
		}
		// A chunk's phase is uniform over sequences of about that length.
		held, shared := 0.0, 0.0
		for phase := range window {
			begin := tc.tokens - float64(phase)
			held += float64(phase) / window
			shared += max(0, tc.prefix-begin) / window
		}
		if math.Abs(g.held(tc.tokens)-held) > 1 || math.Abs(g.shared(tc.prefix, tc.tokens)-shared) > 1 {
			t.Errorf("%v after %v: %v and %v, token by token %v and %v", tc.tokens, tc.prefix, g.held(tc.tokens), g.shared(tc.prefix, tc.tokens), held, shared)
		}
	}
}
