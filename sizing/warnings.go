package sizing

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// addWarnings says what a reader should know before believing the plan: each in
// a line, with what to do about it.
func (s *situation) addWarnings(p *Plan, r Request) {
	s.warnOfMemory(p.Memory, r)
	s.weightWarnings()
	s.warnOfModel()
	s.warnOfServing(r.Scenario)
	s.warnOfPrice(r.Today)
	if p.Performance == nil {
		return
	}
	s.warnOfLinks()
	s.warnOfLoad(p)
	s.warnOfMeasurements(p)
}

// warnOfMemory looks at how well the pool is known, and whether the engine will
// start with it.
func (s *situation) warnOfMemory(m Memory, r Request) {
	if s.device.MemorySource == "catalogue" {
		s.warn("nominal-memory", "the memory of %s is the catalogue's; engines see 0.5 to 2%% less", s.device.Name)
	}
	if m.NearEdge() {
		s.warn("near-the-edge", "the KV pool is %s to %s: overheads are known to about %s only; leave room, or measure the engine's start-up log and give its pool with --kv-cache-memory",
			units.Bytes(m.BytesLow), units.Bytes(m.BytesHigh), units.Bytes(m.ErrorBytes))
	}
	s.startupRoom(m)
	s.warnOfUpgrade(m, r)
}

// startupRoom checks the memory outside of the budget: the device context,
// CUDA graphs where they do not count, and the sampler's warm-up, which needs
// one float32 logit per sequence and vocabulary entry.
func (s *situation) startupRoom(m Memory) {
	if m.Given || s.engine.StartUp == 0 {
		return
	}
	outside := float64(m.TotalBytes) * (1 - s.inputs.GPUMemoryUtilization)
	need := float64(s.engine.StartUp) + 4*float64(s.inputs.MaxNumSeqs)*float64(s.model.VocabSize)
	if !s.graphsCounted() {
		need += float64(m.CUDAGraphBytes + s.engine.CUDAGraph.Error(s.model, m.CUDAGraphBytes))
	}
	if outside < need {
		s.warn("start-up-room", "outside of the budget are %s, but the device context, CUDA graphs and the sampler's warm-up may want %s: the engine may fail to start; lower --gpu-memory-utilization or --max-num-seqs",
			units.Bytes(int64(outside)), units.Bytes(int64(need)))
	}
}

// upgradeShare is the difference of the pool from which an upgrade needs a plan
// of its own.
const upgradeShare = 0.02

// warnOfUpgrade compares the pool with that of the newest version that is known:
// memory moves between budgets from one version to the next.
func (s *situation) warnOfUpgrade(m Memory, r Request) {
	newest, err := profiles.LoadEngine(s.engine.Name)
	if err != nil || m.Given || m.KVCacheBytes <= 0 || newest.Version == s.engine.Version {
		return
	}
	r.Scenario.Engine = newest.String()
	other, err := PlanMemory(r)
	if err != nil {
		return
	}
	pool := other.KVCacheBytes
	if change := float64(pool)/float64(m.KVCacheBytes) - 1; change < -upgradeShare || change > upgradeShare {
		s.warn("engine-upgrade", "%s, the newest version that is known, has a pool of %s with the same flags, not %s: plan again before an upgrade",
			newest, units.Bytes(max(0, pool)), units.Bytes(m.KVCacheBytes))
	}
}

// warnOfModel looks for what the plan does not count.
func (s *situation) warnOfModel() {
	for _, layer := range s.model.Layers {
		if s.kv == shape.FP8 && shape.LayerStateBytes(layer.Attention, s.format.Base, 1) > 0 {
			s.warn("fp8-hybrid", "an fp8 cache does not halve the state of %s's linear layers: expect 1.0 to 1.8 times the tokens, not twice (vllm-project/vllm issue 55196)", s.model.Name)
			break
		}
	}
	if n := s.model.MTPLayers; n > 0 {
		predicting := fmt.Sprintf("%d more layers that predict", n)
		if n == 1 {
			predicting = "one more layer that predicts"
		}
		s.warn("speculation", "%s has %s further tokens (MTP): neither their weights and cache nor the gain of speculation is counted; measure the acceptance on your prompts before you count on it",
			s.model.Name, predicting)
	}
	if trained := s.model.TrainedPositions; trained > 0 && s.inputs.MaxModelLen > trained {
		s.warn("rope-scaled", "%s was trained for %s positions, what is beyond is reached by %s scaling: measure the quality there and of short prompts, or take --max-model-len %d",
			s.model.Name, units.Count(int64(trained)), s.model.RopeScaling, trained)
	}
}

// priceAge is how old a list price may be.
const priceAge = 365 * 24 * time.Hour

// warnOfPrice looks at the date of a list price; a zero day means that nobody
// knows which day it is.
func (s *situation) warnOfPrice(today time.Time) {
	date, err := time.Parse(time.DateOnly, s.inputs.PriceDate)
	if err != nil { // some sources name the month only
		date, err = time.Parse("2006-01", s.inputs.PriceDate)
	}
	if err == nil && !today.IsZero() && today.Sub(date) > priceAge {
		s.warn("old-price", "the price of %s is of %s, which is more than a year ago: give today's with --price", s.device.Name, s.inputs.PriceDate)
	}
}
