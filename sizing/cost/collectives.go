package cost

import (
	"math"
	"math/bits"

	"github.com/llmctl/llmctl/internal/portable"
	"github.com/llmctl/llmctl/profiles"
)

// exchange fills in the collectives of a step of local tokens per data rank.
//
// Tensor parallelism sums two activations per layer, each with an all-reduce that
// moves 2·(t−1)/t of it through the link (Megatron-LM, arXiv 1909.08053 §3) in
// log2(t) rounds. A pipeline hands one activation on per boundary. With data
// ranks, each layer with experts sends a token to the ranks of its experts and
// back: at most one copy per data rank other than its own.
func (s *Step) exchange(f *Facts, a *profiles.Accelerator, c *Constants, local float64) {
	activation := 2 * float64(local*float64(f.Hidden)) // 16-bit values
	layers := float64(f.Layers)
	if t := float64(f.Tensor); t > 1 {
		s.Exchanges += float64(2 * layers * rounds(f.Tensor))
		s.ExchangedBytes += float64(2 * layers * 2 * (t - 1) / t * activation)
	}
	if p := float64(f.Pipeline); p > 1 {
		s.Exchanges += p - 1
		s.ExchangedBytes += float64((p - 1) * activation)
	}
	if d := float64(f.Data); d > 1 && f.ExpertLayers > 0 {
		copies := min(float64(f.PerToken), d) * (d - 1) / d
		s.Exchanges += float64(2 * float64(f.ExpertLayers) * rounds(f.Data))
		s.ExchangedBytes += float64(2 * float64(f.ExpertLayers) * copies * activation)
	}
	s.Collective = float64(c.LatencyS*s.Exchanges) + c.LinkFactor*s.ExchangedBytes/LinkRate(a)
}

// rounds is log2 of a number of ranks, at hand for powers of two.
func rounds(ranks int) float64 {
	if ranks&(ranks-1) == 0 {
		return float64(bits.Len(uint(ranks)) - 1)
	}
	return portable.Log(float64(ranks)) / math.Ln2
}

// slowestLink is taken for devices whose link is not known: one direction of 16
// lanes of PCIe 4.0, in bytes per second.
const slowestLink = 32e9

// LinkRate is the bandwidth between accelerators of a node in one direction, in
// bytes per second.
func LinkRate(a *profiles.Accelerator) float64 {
	if a.LinkBytesPerS > 0 {
		return a.LinkBytesPerS
	}
	return slowestLink
}
