package sizing

import (
	"sync"

	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// weighings are the weights of one model by what they depend on, which is all but
// the accelerator: a search weighs a model on dozens of them. Many goroutines may
// use one; a nil one remembers nothing.
type weighings struct {
	mu   sync.Mutex
	done map[weighingKey]weighing
}

type weighingKey struct {
	said, method string // format asked for, and what became of it
	base, kv     shape.DType

	tensor, pipeline, data, expert int
}

type weighing struct {
	stages []shape.WeightBytes
	facts  cost.Facts
}

// of weighs the model of a situation, or remembers it. What it returns is shared
// and must not be changed.
func (w *weighings) of(s *situation, said string) weighing {
	if w == nil {
		return s.weigh()
	}
	in := s.inputs
	key := weighingKey{said, s.format.Quantization.Method, s.format.Base, s.kv, in.TensorParallel, in.PipelineParallel, in.DataParallel, in.ExpertParallel}
	w.mu.Lock()
	known, ok := w.done[key]
	w.mu.Unlock()
	if !ok {
		known = s.weigh()
		w.mu.Lock()
		w.done[key] = known
		w.mu.Unlock()
	}
	return known
}
