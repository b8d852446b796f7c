package sizing

import "github.com/llmctl/llmctl/profiles"

// activationTerms are what the peak of a stage's intermediate values is made of,
// in bytes.
type activationTerms struct {
	sampler float64 // logits and what sampling makes of them, on the last stage
	mlp     float64 // the widest dense MLP over one step's tokens
	experts float64 // the buffers between the experts' matrices
}

// peak joins the terms: the sampler runs when the layers are done, so that the
// larger of the two counts, while the experts' buffers stay.
func (t activationTerms) peak(base float64) float64 { return base + max(t.sampler, t.mlp) + t.experts }

// activation computes the terms of a stage. The sampler's does not shrink with
// tensor parallelism, since logits are gathered on every rank. Experts in mxfp4
// run in kernels of their own that keep no workspace (vLLM: mxfp4.py; start-up
// logs of gpt-oss show none).
func (s *situation) activation(stage int) activationTerms {
	in, a := s.inputs, s.engine.Activation
	var t activationTerms
	if s.samples(stage) {
		t.sampler = a.PerSequenceVocabBytes * float64(in.MaxNumSeqs) * float64(s.model.VocabSize)
	}
	layers := s.stageLayers(stage)
	t.mlp = float64(in.MaxNumBatchedTokens) * s.mlpPerToken(layers) * 2
	if a.ExpertWorkspace && s.format.Quantization.Method != "mxfp4" {
		first, second := s.expertsPerToken(layers)
		t.experts = float64(in.MaxNumBatchedTokens) * (first + second) * 2
	}
	return t
}

// mlpPerToken is how many 16-bit values the widest dense MLP of the layers holds
// per token: gate, up and their product, divided over ranks, and three of the
// hidden width.
func (s *situation) mlpPerToken(layers []profiles.Layer) float64 {
	widest := 0
	for _, layer := range layers {
		widest = max(widest, layer.MLP.Intermediate)
	}
	return 3*float64(widest)/float64(s.inputs.TensorParallel) + 3*float64(s.model.HiddenSize)
}

// expertsPerToken is how many 16-bit values the experts' buffers hold per token,
// for the experts that it visits: gate and up or the output, whichever is wider,
// and their product (vLLM: fused_moe's two workspaces). Tensor parallelism
// divides the experts' width.
func (s *situation) expertsPerToken(layers []profiles.Layer) (first, second float64) {
	for _, layer := range layers {
		x := layer.MLP
		width := float64(x.ExpertIntermediate) / float64(s.inputs.TensorParallel)
		visited := float64(x.ExpertsPerToken)
		first = max(first, visited*max(2*width, float64(s.model.HiddenSize)))
		second = max(second, visited*width)
	}
	return first, second
}
