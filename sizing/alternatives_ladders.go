package sizing

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// fullestMemory is the share of memory up to which engines are run by those who
// know what else is on the card.
const fullestMemory = 0.95

// larger are accelerators to try, smallest first.
var larger = []string{"l40s-48gb", "a100-sxm-80gb", "h100-sxm-80gb", "h200-sxm-141gb", "b200-180gb", "mi300x-192gb", "b300-270gb"}

// tryHere tries what changes neither the accelerator nor their number: of each
// ladder the first step that works is enough; pairs where none does; and where no
// pair does either, all room that there is with a smaller cache or a shorter length.
func (s *situation) tryHere(g *suggestion, m Memory, l layout) {
	batches, memory, cache := s.smallerBatches(m), s.moreMemory(m), s.smallerCache()
	ladders := [][]change{s.largerPool(m), s.shorter(m, l), batches, memory, cache, s.narrower()}
	for _, ladder := range ladders {
		g.first(ladder)
	}
	if len(g.found) > 0 || s.sloGiven {
		return
	}
	for i, one := range ladders {
		for _, other := range ladders[i+1:] {
			var pairs []change
			for _, a := range one {
				for _, b := range other {
					pairs = append(pairs, a.with(b))
				}
			}
			g.first(pairs)
		}
	}
	if len(g.found) > 0 || len(batches) == 0 {
		return
	}
	room := batches[len(batches)-1]
	if len(memory) > 0 {
		room = room.with(memory[0])
	}
	if len(cache) > 0 {
		g.works(room.with(cache[0]))
	}
	if length := g.longest(room); length > 0 && s.lenGiven {
		g.works(room.with(change{"--max-model-len", strconv.Itoa(length)}))
	}
}

// longest is the length of the longest request that fits with a change, 0 when
// none does.
func (g *suggestion) longest(c change) int {
	changed := g.request
	c.apply(&changed)
	t, err := resolve(changed)
	if err != nil {
		return 0
	}
	l, err := t.newLayout()
	if err != nil {
		return 0
	}
	m := t.plannedMemory(l)
	return l.longest(m.KVCacheBlocks, t.inputs.MaxModelLen, t.inputs.MaxNumBatchedTokens)
}

// shorter is the length of requests that the pool holds.
func (s *situation) shorter(m Memory, l layout) []change {
	in := s.inputs
	if fits := l.longest(m.KVCacheBlocks, in.MaxModelLen, in.MaxNumBatchedTokens); s.lenGiven && m.KVCacheBlocks > 0 && fits < in.MaxModelLen {
		return []change{{"--max-model-len", strconv.Itoa(fits)}}
	}
	return nil
}

// smallerBatches take less for activations and the sampler.
func (s *situation) smallerBatches(m Memory) []change {
	if m.Given {
		return nil
	}
	var ladder []change
	for _, b := range []struct{ sequences, tokens int }{{256, 0}, {64, 2048}, {16, 1024}, {4, 512}} {
		var c change
		if b.sequences < s.inputs.MaxNumSeqs {
			c = append(c, "--max-num-seqs", strconv.Itoa(b.sequences))
		}
		if b.tokens > 0 && b.tokens < s.inputs.MaxNumBatchedTokens {
			c = append(c, "--max-num-batched-tokens", strconv.Itoa(b.tokens))
		}
		if c != nil {
			ladder = append(ladder, c)
		}
	}
	return ladder
}

// moreMemory gives the engine more of the card.
func (s *situation) moreMemory(m Memory) []change {
	if m.Given || s.inputs.GPUMemoryUtilization >= fullestMemory {
		return nil
	}
	return []change{{"--gpu-memory-utilization", strconv.FormatFloat(fullestMemory, 'f', -1, 64)}}
}

// largerPool is more than the pool that was given, as far as the weights leave room.
func (s *situation) largerPool(m Memory) (ladder []change) {
	if s.kvGiven <= 0 {
		return nil
	}
	room := int64(fullestMemory*float64(m.TotalBytes)) - m.WeightsBytes
	for size := 2 * s.kvGiven; size <= room; size *= 2 {
		ladder = append(ladder, change{"--kv-cache-memory", sizeText(size)})
	}
	return ladder
}

// smallerCache is an fp8 cache where the accelerator computes in it.
func (s *situation) smallerCache() []change {
	if s.kv.Bytes() == 2 && s.device.FP8FlopsPerS > 0 {
		return []change{{"--kv-dtype", "fp8"}}
	}
	return nil
}

// tensors are the degrees of tensor parallelism above one, within a link domain:
// its exchanges do not stand a slower network.
func tensors(above, domain int) (degrees []string) {
	for tp := 2; tp <= min(16, domain); tp *= 2 {
		if tp > above {
			degrees = append(degrees, strconv.Itoa(tp))
		}
	}
	return degrees
}

// tryParallel tries more accelerators of the same kind: tensor parallelism within
// a link domain, with fewer bits at a degree below what works without; beyond the
// domain stages of a pipeline, and data parallelism where experts can be divided.
func (s *situation) tryParallel(g *suggestion) {
	in, domain := s.inputs, linkDomain(s.device)
	degrees, fewer := tensors(in.TensorParallel, domain), s.narrower()
	inside := false
	for _, tp := range degrees {
		if g.works(change{"--tp", tp}) {
			inside = true
			break
		}
		if len(fewer) > 0 && !slices.ContainsFunc(g.found, func(a Alternative) bool { return strings.HasPrefix(a.Change, "--weight-dtype") }) {
			g.works(fewer[0].with(change{"--tp", tp}))
		}
	}
	if inside || in.accelerators() > domain || s.sloGiven {
		return
	}
	widest := change{"--tp", strconv.Itoa(min(8, domain))}
	g.first([]change{widest.with(change{"--pp", "2"}), widest.with(change{"--pp", "4"})})
	if in.DataParallel == 1 && s.facts.Experts > 0 {
		g.first([]change{widest.with(change{"--dp", "2", "--ep", "16"}), widest.with(change{"--dp", "4", "--ep", "32"})})
	}
}

// tryOthers tries other accelerators, each at the smallest degree of tensor
// parallelism that does.
func (s *situation) tryOthers(g *suggestion) {
	for _, key := range larger {
		d, err := profiles.LoadAccelerator(key)
		if err != nil || d.MemoryBytes < s.device.MemoryBytes || key == s.device.Name {
			continue
		}
		card := change{"--accelerator", key}
		ladder := []change{card}
		for _, tp := range tensors(s.inputs.TensorParallel, linkDomain(d)) {
			if n, _ := strconv.Atoi(tp); n <= 8 {
				ladder = append(ladder, card.with(change{"--tp", tp}))
			}
		}
		g.first(ladder)
	}
}

// narrower are weights of fewer bits than the model's: 8 where the accelerator
// has units of 8 bits, then 4.
func (s *situation) narrower() []change {
	if s.format.Quantization.Method != "" {
		return nil
	}
	eight := "int8"
	if s.device.FP8FlopsPerS > 0 {
		eight = "fp8"
	}
	return []change{{"--weight-dtype", eight}, {"--weight-dtype", "int4"}}
}

// linkDomain is how many accelerators the fast link joins: 8 on the boards of
// HGX and OAM servers, 72 in an NVL72 rack of GB200 or GB300 (NVIDIA). Beyond it,
// pipeline parallelism stands the slower network.
func linkDomain(d *profiles.Accelerator) int {
	if strings.HasPrefix(d.Name, "gb") {
		return 72
	}
	return 8
}
