package sizing

import (
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
	"github.com/llmctl/llmctl/sizing/shape"
)

// A pipeline cuts the layers into stages. The first one also holds the
// embeddings, the last one the head and the sampler's buffers; the stage with
// the fewest blocks decides for all (vLLM: the minimum over workers).

// stageBounds are the first layers of each stage, and the number of layers: the
// layers that do not divide go one each to the stages before the last, from the
// back, since the last one has the head (vLLM: distributed/utils.py,
// get_pp_indices).
func stageBounds(layers, pipeline int) []int {
	each, rest := layers/pipeline, layers%pipeline
	bounds := []int{0}
	for stage := range pipeline {
		n := each
		if fromBack := pipeline - 1 - stage; fromBack >= 1 && fromBack <= rest {
			n++
		}
		bounds = append(bounds, bounds[stage]+n)
	}
	return bounds
}

// stageOf is the stage that a layer is on.
func (s *situation) stageOf(layer int) int {
	stage := 0
	for stage < s.inputs.PipelineParallel-1 && layer >= s.bounds[stage+1] {
		stage++
	}
	return stage
}

// stageLayers are the layers of a stage.
func (s *situation) stageLayers(stage int) []profiles.Layer {
	return s.model.Layers[s.bounds[stage]:s.bounds[stage+1]]
}

// resolveWeights weighs the model once: nothing that is settled later changes it.
func (s *situation) resolveWeights(r Request) error {
	w := s.weighed.of(s, r.WeightDType)
	s.stages, s.facts = w.stages, w.facts
	return nil
}

// weigh computes the weights of each stage, and what a step's time depends on.
func (s *situation) weigh() weighing {
	var w weighing
	for stage := range s.inputs.PipelineParallel {
		w.stages = append(w.stages, s.stageWeights(stage))
	}
	in := s.inputs
	w.facts = cost.NewFacts(s.model, s.format, s.kv, cost.Parallel{Tensor: in.TensorParallel, Pipeline: in.PipelineParallel, Expert: in.ExpertParallel, Data: in.DataParallel})
	return w
}

// stageWeights are the weights of a stage, before they are divided over ranks.
// A head tied to the embeddings is a copy of them on the last stage.
func (s *situation) stageWeights(stage int) shape.WeightBytes {
	w := shape.StageWeights(s.model, s.format, s.bounds[stage], s.bounds[stage+1])
	last := s.inputs.PipelineParallel - 1
	if stage == last && stage > 0 && w.Head == 0 {
		w.Head = w.Embedding
	}
	if stage > 0 {
		w.Embedding = 0
	}
	if stage < last {
		w.Head = 0
	}
	// Data parallelism divides the experts too: all ranks of a replica hold
	// each of them once. Whole experts leave some ranks with one more.
	w.Experts /= float64(s.inputs.DataParallel)
	if experts, _ := widestExperts(s.model); s.inputs.ExpertParallel > 1 && experts > 0 {
		each := ceilDiv(experts, s.inputs.ExpertParallel)
		w.Experts *= float64(each*s.inputs.ExpertParallel) / float64(experts)
	}
	return w
}

// samples reports whether a stage has the sampler.
func (s *situation) samples(stage int) bool { return stage == s.inputs.PipelineParallel-1 }
