package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// parameters explains how many there are.
func (d *derivations) parameters(s *situation, p *Plan) {
	c := shape.CountParameters(s.model)
	if s.model.Stored != nil && s.model.Stored.Parameters > 0 {
		d.note("parameters", "sum over tensors", "the shapes in the files", float64(s.parameters()), "parameters", s.weightsSource())
	} else {
		d.add("parameters", "embeddings + head + attention + dense MLPs + experts + routers and norms",
			fmt.Sprintf("%s + %s + %s + %s + %s + %s", units.Count(c.Embedding), units.Count(c.Head), units.Count(c.Attention),
				units.Count(c.Dense), units.Count(c.Experts), units.Count(c.Router+c.Small)),
			float64(c.Total()), "parameters", "config.json")
	}
	d.add("active parameters", "parameters − experts + the experts that a token visits",
		fmt.Sprintf("%s − %s + %s", units.Count(c.Total()), units.Count(c.Experts), units.Count(c.Visited)),
		float64(p.Model.ActiveParameters), "parameters", "config.json: num_experts_per_tok")
	if v := s.model.Vision; v != nil && p.Model.VisionParameters > 0 {
		d.add("parameters of the vision tower", "encoder + projector", fmt.Sprintf("%s + %s", units.Count(int64(v.Encoder)), units.Count(int64(v.Projector))),
			float64(p.Model.VisionParameters), "parameters", "config.json: vision_config")
	}
}

// weights explains the bytes of an accelerator's share of the parameters.
func (d *derivations) weights(s *situation, p *Plan) {
	w, t, data := s.stages[p.Memory.Stage], s.inputs.TensorParallel, s.inputs.DataParallel
	experts, expertsText := "experts", bytesFigure(w.Experts)
	if data > 1 && w.Experts > 0 {
		experts = "experts ÷ DP"
		expertsText = fmt.Sprintf("%s ÷ %d", bytesFigure(w.Experts*float64(data)), data)
	}
	outer, outerText := "embeddings + head", bytesFigure(w.Embedding)+" + "+bytesFigure(w.Head)
	if w.Vision > 0 {
		outer += " + vision tower"
		outerText += " + " + bytesFigure(w.Vision)
	}
	split, splitText := "split layers", bytesFigure(w.Split)
	if w.Absorbed > 0 {
		split += " + absorbed latent projections"
		splitText += " + " + bytesFigure(w.Absorbed)
	}
	d.add("weights per accelerator",
		"("+split+" + "+experts+") ÷ TP + K and V projections ÷ min(TP, KV heads) + copied + rotary tables + ("+outer+") ÷ TP",
		fmt.Sprintf("(%s + %s) ÷ %d + %s ÷ min(%d, %d) + %s + %s + (%s) ÷ %d", splitText, expertsText, t,
			bytesFigure(w.KV), t, w.KVHeads, bytesFigure(w.Copied), bytesFigure(w.Tables), outerText, t),
		float64(p.Memory.WeightsBytes), "B",
		s.weightsSource()+s.stageName(p.Memory.Stage))
}

// stageName says which stage of a pipeline a number is of.
func (s *situation) stageName(stage int) string {
	if s.inputs.PipelineParallel == 1 {
		return ""
	}
	return fmt.Sprintf("; stage %d of %d with %d of %d layers, which has the fewest KV blocks",
		stage+1, s.inputs.PipelineParallel, len(s.stageLayers(stage)), len(s.model.Layers))
}

// pool explains the budget of one accelerator.
func (d *derivations) pool(s *situation, p *Plan) {
	m, in := p.Memory, s.inputs
	total, weights, share := bytesFigure(float64(m.TotalBytes)), bytesFigure(float64(m.WeightsBytes)), setting(in.GPUMemoryUtilization)
	reserve, activation := bytesFigure(float64(m.ReserveBytes)), bytesFigure(float64(m.ActivationBytes))
	other := bytesFigure(float64(m.NonTorchBytes))
	formula, text := "", ""
	if m.Stage > 0 {
		d.note("stage that decides", "the pipeline stage whose pool holds the fewest blocks, counted from 0",
			"a comparison of all stages", float64(m.Stage), "", "vLLM v1/core/kv_cache_utils.py")
		d.note("KV pool of the first stage", "the same for the first stage, which is what the engine logs",
			"as the pool below, with that stage's layers", float64(m.FirstStageBytes), "B", s.engine.Source)
	}
	d.note("memory of one accelerator", "as the driver or an engine reports it, or the catalogue", "a fact", float64(m.TotalBytes), "B", s.device.Source)
	switch {
	case m.Given:
		d.note("KV pool per accelerator", "as given", "a setting", float64(m.KVCacheBytes), "B", "--kv-cache-memory")
		return
	case s.engine.Pool == profiles.PoolReserve:
		d.nonTorch(s, m)
		formula = "(memory − non-torch) × share − weights"
		text = fmt.Sprintf("(%s − %s) × %s − %s", total, other, share, weights)
		if m.ReserveBytes > 0 {
			d.reserve(s, m)
			formula = "(memory − non-torch) × (share − reserve ÷ memory) − weights"
			text = fmt.Sprintf("(%s − %s) × (%s − %s ÷ %s) − %s", total, other, share, reserve, total, weights)
		}
	case s.engine.Pool == profiles.PoolFree:
		d.overheads(s, m)
		formula = "(memory − weights − activation − non-torch) × fraction"
		text = fmt.Sprintf("(%s − %s − %s − %s) × %s", total, weights, activation, other, share)
	default:
		d.overheads(s, m)
		formula = "memory × utilization − weights − activation − non-torch"
		text = fmt.Sprintf("%s × %s − %s − %s − %s", total, share, weights, activation, other)
		if s.graphsCounted() {
			formula += " − CUDA graphs"
			text += " − " + bytesFigure(float64(m.CUDAGraphBytes))
		}
	}
	parts := []string{"pool", "non_torch"}
	if !s.shareGiven {
		parts = append(parts, "utilization")
	}
	if s.graphsCounted() {
		parts = append(parts, "cuda_graph")
	}
	if m.KVCacheBytes < 0 {
		d.add("room for a KV pool", formula, text, float64(m.KVCacheBytes), "B", s.engine.Origin(parts...))
		d.add("missing memory per accelerator", "0 − room for a KV pool", "0 − "+bytesFigure(float64(m.KVCacheBytes)), float64(-m.KVCacheBytes), "B", "the model does not fit")
		return
	}
	d.add("KV pool per accelerator", formula, text, float64(m.KVCacheBytes), "B", s.engine.Origin(parts...))
}

func (d *derivations) reserve(s *situation, m Memory) {
	r, in := s.engine.Reserve, s.inputs
	formula := "base + bytes per batched token × max_num_batched_tokens + bytes per rank × ranks + bytes per sequence of a CUDA graph × largest batch"
	text := fmt.Sprintf("%s + %s × %s + %s × %d + %s × %d", bytesFigure(float64(r.BaseBytes)), bytesFigure(float64(r.PerBatchedTokenBytes)),
		units.Count(int64(in.MaxNumBatchedTokens)), bytesFigure(float64(r.PerRankBytes)), in.TensorParallel*in.PipelineParallel,
		bytesFigure(float64(r.PerGraphSeqBytes)), s.engine.Limits(s.device).GraphSeqs)
	if r.FloorBytes > 0 && s.device.MemoryBytes > r.FloorMemoryBytes {
		formula = "the larger of the floor and " + formula
		text = fmt.Sprintf("max(%s, %s)", bytesFigure(float64(r.FloorBytes)), text)
	}
	d.add("reserve", formula, text, float64(m.ReserveBytes), "B", s.engine.Origin("reserve", "limits"))
}

// overheads explains what engines allocate beside weights and cache.
func (d *derivations) overheads(s *situation, m Memory) {
	d.activation(s, m)
	d.nonTorch(s, m)
	if m.CUDAGraphBytes > 0 {
		d.graphs(s, m)
	}
}

// graphs explains the memory of captured graphs.
func (d *derivations) graphs(s *situation, m Memory) {
	g, in := s.engine.CUDAGraph, s.inputs
	where := "outside of the budget"
	if s.graphsCounted() {
		where = "inside the budget"
	}
	if g.PerLayerBytes == 0 {
		d.note("CUDA graphs", "memory of captured graphs, "+where, "a fact of the engine's version", float64(m.CUDAGraphBytes), "B", s.engine.Origin("cuda_graph"))
		return
	}
	count := g.Graphs(in.MaxNumSeqs)
	formula := "graphs × layers × bytes per layer + hidden size ÷ TP × bytes per width"
	text := fmt.Sprintf("%d × %d × %s + %d ÷ %d × %s", count, len(s.stageLayers(m.Stage)), bytesFigure(float64(g.PerLayerBytes)),
		s.model.HiddenSize, in.TensorParallel, bytesFigure(float64(g.PerWidthBytes)))
	if s.model.HasExperts() {
		formula += " + graphs × bytes of experts"
		text += fmt.Sprintf(" + %d × %s", count, bytesFigure(float64(g.ExpertsBytes)))
	}
	d.add("CUDA graphs", formula+", "+where, text, float64(m.CUDAGraphBytes), "B", s.engine.Origin("cuda_graph"))
}

func (d *derivations) nonTorch(s *situation, m Memory) {
	if m.NonTorchBytes > 0 {
		d.note("non-torch memory", "device context and communication buffers", "a fact of the engine's version", float64(m.NonTorchBytes), "B", s.engine.Source)
	}
}

func (d *derivations) activation(s *situation, m Memory) {
	a, t := s.engine.Activation, s.activation(m.Stage)
	sampler := "0"
	if s.samples(m.Stage) {
		sampler = fmt.Sprintf("%s B × %s × %s", setting(a.PerSequenceVocabBytes), units.Count(int64(s.inputs.MaxNumSeqs)), units.Count(int64(s.model.VocabSize)))
	}
	formula := "base + the larger of k × max_num_seqs × vocabulary, and the widest MLP over a step's tokens"
	text := fmt.Sprintf("%s + max(%s, %s × %s × 2 B)", bytesFigure(float64(a.BaseBytes)), sampler,
		units.Count(int64(s.inputs.MaxNumBatchedTokens)), figure(s.mlpPerToken(s.stageLayers(m.Stage))))
	if t.experts > 0 {
		first, second := s.expertsPerToken(s.stageLayers(m.Stage))
		formula += " + the experts' buffers over a step's tokens"
		text += fmt.Sprintf(" + %s × (%s + %s) × 2 B", units.Count(int64(s.inputs.MaxNumBatchedTokens)), figure(first), figure(second))
	}
	d.add("activation peak", formula, text, float64(m.ActivationBytes), "B", s.engine.Origin("activation"))
}
