package sizing

import (
	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// joinNodes takes the network between nodes for the link of a replica whose data
// ranks lie on several: every layer with experts sends tokens to the ranks of all.
// What stays inside of a node is faster, so that times are rather too long.
func (s *situation) joinNodes() {
	in, domain := s.inputs, linkDomain(s.device)
	ranks := in.TensorParallel * in.DataParallel
	if in.DataParallel == 1 || in.TensorParallel > domain || ranks <= domain || s.device.LinkBytesPerS <= profiles.NetworkBytesPerS {
		return
	}
	device := *s.device
	device.LinkBytesPerS = profiles.NetworkBytesPerS
	s.device = &device
	s.warn("cross-node", "the %d ranks of a replica lie on several nodes of %d: what they exchange is forecast at %s GB/s per accelerator, that of one 400 Gb/s adapter each; a slower network makes each step longer",
		ranks, domain, units.Number(profiles.NetworkBytesPerS/1e9))
}
