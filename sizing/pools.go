package sizing

import (
	"math"

	"github.com/llmctl/llmctl/profiles"
)

// separate lays out pools that do not share pages, after SGLang's
// model_executor/model_runner.py. A block is blockSize tokens in all layers, of
// which windows get a share, and brings its share of the states' pool along. A
// request takes at least the blocks that its state's slot came with.
func (l *layout) separate(s *situation, kinds, states []kvKind) {
	pools := s.engine.Pools
	one := kvGroup{kind: profiles.FullAttention, blockTokens: l.blockSize}
	mixed := !alike(kinds)
	if !mixed {
		one.kind, one.window = kinds[0].kind, kinds[0].window
	}
	l.groups = []kvGroup{one}
	cells := make([]float64, s.inputs.PipelineParallel) // bytes of a block on each stage
	for _, k := range kinds {
		bytes := float64(k.page(l.blockSize))
		if mixed && k.window > 0 && pools.WindowRatio > 0 {
			bytes *= pools.WindowRatio
		}
		for _, layer := range k.at {
			cells[s.stageOf(layer)] += bytes
		}
	}
	slots := make([]float64, len(cells)) // bytes of one request's state on each stage
	for _, k := range states {
		for _, layer := range k.at {
			slots[s.stageOf(layer)] += float64(k.bytes)
		}
	}
	for stage, cell := range cells {
		if slots[stage] > 0 && cell > 0 && pools.StateRatio > 0 {
			l.slotBlocks = max(l.slotBlocks, int64(math.Ceil(slots[stage]/(pools.StateRatio*cell))))
			cell *= 1 + pools.StateRatio
		}
		l.stages = append(l.stages, int64(math.Ceil(cell)))
	}
	for stage, bytes := range l.stages {
		if bytes == 0 && l.slotBlocks > 0 { // states alone: as many as the other stages have
			l.stages[stage] = int64(math.Ceil(slots[stage] / float64(l.slotBlocks)))
		}
	}
	l.pageBytes, l.groupSize = l.largestBlock(), 1
}
