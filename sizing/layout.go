package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// layout is how an engine cuts the pool into blocks, after vLLM's
// v1/core/kv_cache_utils.py. Layers of one kind (full, one window, a fixed
// state) form groups of equal size that share block numbers: one block holds one
// page in each layer of a group. With one kind there is one group.
type layout struct {
	groups    []kvGroup
	pageBytes int64   // one block of one layer, equal for all kinds
	groupSize int64   // layers of a group on the pipeline stage whose blocks are largest
	stages    []int64 // bytes of one block on each pipeline stage
	blockSize int     // tokens of a block of the layers whose tokens cost most

	// slotBlocks is how many blocks a request takes at least, where states lie in
	// a pool of their own that grows with the other.
	slotBlocks int64
}

// kvGroup is one group of layers of a kind.
type kvGroup struct {
	kind        profiles.AttentionKind
	window      int
	blockTokens int // tokens per block: more where a token is cheaper
	stateBlocks int // blocks per request of a fixed state
}

// kvKind is the layers that cache alike. A layer that has attention beside a
// state counts with both.
type kvKind struct {
	kind   profiles.AttentionKind
	window int
	bytes  int64 // per token and layer, or per sequence and layer for a state
	layers int
	at     []int              // the layers
	like   profiles.Attention // one of the layers
}

// page is the bytes of a block of tokens in one layer.
func (k kvKind) page(tokens int) int64 { return k.bytes * int64(tokens) }

// newLayout groups the layers of the model for the engine.
func (s *situation) newLayout() (layout, error) {
	in := s.inputs
	if s.model.Layers[0].Attention.Kind == profiles.CompressedAttention {
		return layout{}, fmt.Errorf("model %s caches compressed vectors beside a window (DeepSeek-V4): "+
			"how engines divide a pool among them is not known well enough to plan it", s.model.Name)
	}
	kinds := crossKinds(layerKinds(s.model, s.kv, in.TensorParallel, s.engine), s.model, s.kv, in.TensorParallel)
	states := stateKinds(s.model, s.format.Base, in.TensorParallel)
	l := layout{blockSize: in.BlockSize}
	switch {
	case len(kinds)+len(states) == 0:
		return layout{}, fmt.Errorf("model %s has no layer that caches anything", s.model.Name)
	case s.engine.Pools != profiles.EnginePools{} && len(kinds) > 0:
		l.separate(s, kinds, states)
		return l, nil
	case len(states) == 0 && alike(kinds):
		l.sizePages(kinds)
		l.merge(s, kinds)
		return l, nil
	}
	l.fitStates(kinds, states)
	l.sizePages(kinds)
	for _, k := range states {
		l.pageBytes = max(l.pageBytes, k.bytes)
	}
	l.split(s, append(kinds, states...))
	return l, nil
}

// layerKinds counts caching layers by kind, in order of appearance, as an engine
// caches them.
func layerKinds(m *profiles.Model, d shape.DType, tensor int, e *profiles.Engine) []kvKind {
	var kinds []kvKind
	mixed := false
	for _, layer := range m.Layers {
		a := layer.Attention
		mixed = mixed || a.Window == 0 && shape.LayerKVBytes(a, d, tensor) > 0
	}
	for i, layer := range m.Layers {
		a := layer.Attention
		if e.Windows == profiles.WindowsKeep && mixed && a.Window > 0 {
			a.Kind, a.Window = profiles.FullAttention, 0
		}
		if e.LatentHeads && a.Kind == profiles.LatentAttention {
			a = profiles.Attention{Kind: profiles.FullAttention, KVHeads: a.Heads, HeadDim: 256, ValueDim: 256}
		}
		kinds = count(kinds, kvKind{kind: a.Kind, window: a.Window, bytes: shape.LayerKVBytes(a, d, tensor), like: a}, i)
	}
	return kinds
}

// crossKinds adds the layers that attend to an image: a block has a page in each
// of them too, although the tokens of a text leave nothing there.
func crossKinds(kinds []kvKind, m *profiles.Model, d shape.DType, tensor int) []kvKind {
	for i, layer := range m.Layers {
		if a := layer.Attention; a.Kind == profiles.CrossAttention {
			a.Kind = profiles.FullAttention
			kinds = count(kinds, kvKind{kind: a.Kind, bytes: shape.LayerKVBytes(a, d, tensor), like: a}, i)
		}
	}
	return kinds
}

// stateKinds counts the layers that keep a fixed state per sequence.
func stateKinds(m *profiles.Model, d shape.DType, tensor int) []kvKind {
	var kinds []kvKind
	for i, layer := range m.Layers {
		a := layer.Attention
		kinds = count(kinds, kvKind{kind: profiles.LinearAttention, bytes: shape.LayerStateBytes(a, d, tensor), like: a}, i)
	}
	return kinds
}

// count adds a layer to the kind that it is of.
func count(kinds []kvKind, k kvKind, layer int) []kvKind {
	if k.bytes == 0 {
		return kinds
	}
	for i := range kinds {
		if have := &kinds[i]; have.kind == k.kind && have.window == k.window && have.bytes == k.bytes {
			have.layers++
			have.at = append(have.at, layer)
			return kinds
		}
	}
	k.layers, k.at = 1, []int{layer}
	return append(kinds, k)
}

// alike reports whether all kinds remember the same tokens, so that one block
// number serves all layers whatever their widths (vLLM: UniformTypeKVCacheSpecs).
func alike(kinds []kvKind) bool {
	for _, k := range kinds {
		latent := k.kind == profiles.LatentAttention
		if k.window != kinds[0].window || k.window > 0 && k.kind != kinds[0].kind || latent != (kinds[0].kind == profiles.LatentAttention) {
			return false
		}
	}
	return true
}

// fitStates raises the block of attention so that its page holds a whole state
// (vLLM: "setting attention block size … to ensure that attention page size is
// >= mamba page size"), in steps of the block size that was asked for.
func (l *layout) fitStates(kinds, states []kvKind) {
	if len(kinds) == 0 {
		return
	}
	cheapest, state := kinds[0].bytes, int64(0)
	for _, k := range kinds {
		cheapest = min(cheapest, k.bytes)
	}
	for _, k := range states {
		state = max(state, k.bytes)
	}
	step := int64(min(l.blockSize, 16))
	if need := (state + step*cheapest - 1) / (step * cheapest) * step; int64(l.blockSize) < need {
		l.blockSize = int(need)
	}
}

// sizePages gives all kinds the page of the one whose tokens cost most.
func (l *layout) sizePages(kinds []kvKind) {
	for _, k := range kinds {
		l.pageBytes = max(l.pageBytes, k.page(l.blockSize))
	}
}

// merge puts all layers into one group, each with a page of its own width.
func (l *layout) merge(s *situation, kinds []kvKind) {
	l.groups = []kvGroup{{kind: kinds[0].kind, window: kinds[0].window, blockTokens: l.blockSize}}
	l.stages = make([]int64, s.inputs.PipelineParallel)
	for _, k := range kinds {
		for _, layer := range k.at {
			l.stages[s.stageOf(layer)] += k.page(l.blockSize)
		}
	}
	if len(kinds) > 1 {
		l.pageBytes = 0
		for _, bytes := range l.stages {
			l.pageBytes = max(l.pageBytes, bytes)
		}
	}
	l.groupSize = l.largestBlock() / l.pageBytes
}

// split makes groups of as many layers as the rarest kind has, or as the most
// frequent one where that is less than half as many again: padding it wastes
// less than more groups. A group takes every n-th layer of its kind, which
// spreads it over the stages of a pipeline.
func (l *layout) split(s *situation, kinds []kvKind) {
	fewest, most := kinds[0].layers, kinds[0].layers
	for _, k := range kinds {
		fewest, most = min(fewest, k.layers), max(most, k.layers)
	}
	size := fewest
	if 2*most < 3*fewest {
		size = most
	}
	largest := make([]int64, s.inputs.PipelineParallel) // layers of any group on each stage
	for _, k := range kinds {
		n := ceilDiv(k.layers, size)
		for g := range n {
			l.groups = append(l.groups, l.groupOf(s.stateBlocks(), k))
			on := make([]int64, len(largest))
			for i := g; i < k.layers; i += n {
				on[s.stageOf(k.at[i])]++
			}
			for stage := range on {
				largest[stage] = max(largest[stage], on[stage])
			}
		}
	}
	if len(largest) == 1 {
		largest[0] = int64(size) // the last group of a kind is padded
	}
	for _, layers := range largest {
		l.groupSize = max(l.groupSize, layers)
		l.stages = append(l.stages, layers*l.pageBytes)
	}
}

// groupOf sizes the blocks of a kind: as many whole blocks as fit into the
// common page, the rest of which is padding.
func (l *layout) groupOf(stateBlocks int, k kvKind) kvGroup {
	if k.kind == profiles.LinearAttention {
		return kvGroup{kind: k.kind, stateBlocks: stateBlocks}
	}
	blocks := l.pageBytes / k.page(l.blockSize)
	return kvGroup{kind: k.kind, window: k.window, blockTokens: l.blockSize * int(max(1, blocks))}
}

// largestBlock is the bytes of a block on the stage where it is largest.
func (l layout) largestBlock() int64 {
	largest := int64(0)
	for _, bytes := range l.stages {
		largest = max(largest, bytes)
	}
	return largest
}
