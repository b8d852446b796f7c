package sizing

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/shape"
)

// weights explains parameters and their bytes.
func (d *derivations) weights(s *situation, p *Plan) {
	c := shape.CountParameters(s.model)
	d.add("parameters", "embeddings + head + attention + dense MLPs + experts + routers and norms",
		fmt.Sprintf("%s + %s + %s + %s + %s + %s", units.Count(c.Embedding), units.Count(c.Head), units.Count(c.Attention),
			units.Count(c.Dense), units.Count(c.Experts), units.Count(c.Router+c.Small)),
		float64(c.Total()), "parameters", "config.json")
	d.add("active parameters", "parameters − experts + the experts that a token visits",
		fmt.Sprintf("%s − %s + %s", units.Count(c.Total()), units.Count(c.Experts), units.Count(c.Visited)),
		float64(c.Active()), "parameters", "config.json: num_experts_per_tok")

	w, t, pp := shape.Weights(s.model, s.format), s.inputs.TensorParallel, s.inputs.PipelineParallel
	layers := fmt.Sprintf("(%s + %s) ÷ %d + %s ÷ min(%d, %d) + %s", bytesFigure(w.Split), bytesFigure(w.Experts), t,
		bytesFigure(w.KV), t, w.KVHeads, bytesFigure(w.Copied))
	formula := "(split layers + experts) ÷ TP + K and V projections ÷ min(TP, KV heads) + copied + (embeddings + head) ÷ TP"
	text := fmt.Sprintf("%s + (%s + %s) ÷ %d", layers, bytesFigure(w.Embedding), bytesFigure(w.Head), t)
	if pp > 1 {
		formula = "((split layers + experts) ÷ TP + K and V projections ÷ min(TP, KV heads) + copied) × layers of a stage ÷ layers + max(embeddings, head) ÷ TP"
		text = fmt.Sprintf("(%s) × ⌈%d ÷ %d⌉ ÷ %d + max(%s, %s) ÷ %d", layers, w.Layers, pp, w.Layers, bytesFigure(w.Embedding), bytesFigure(w.Head), t)
	}
	d.add("weights per accelerator", formula, text, float64(p.Memory.WeightsBytes), "B",
		fmt.Sprintf("weight format %s: %s B per linear weight, %d B for the rest", s.format, setting(s.format.BytesPerWeight()), s.format.Base.Bytes()))
}

// pool explains the budget of one accelerator.
func (d *derivations) pool(s *situation, p *Plan) {
	m, in := p.Memory, s.inputs
	total, weights, share := bytesFigure(float64(m.TotalBytes)), bytesFigure(float64(m.WeightsBytes)), setting(in.GPUMemoryUtilization)
	reserve, activation := bytesFigure(float64(m.ReserveBytes)), bytesFigure(float64(m.ActivationBytes))
	other := bytesFigure(float64(m.NonTorchBytes))
	formula, text := "", ""
	d.note("memory of one accelerator", "as the driver or an engine reports it, or the catalogue", "a fact", float64(m.TotalBytes), "B", s.device.Source)
	switch {
	case m.Given:
		d.note("KV pool per accelerator", "as given", "a setting", float64(m.KVCacheBytes), "B", "--kv-cache-memory")
		return
	case s.engine.Pool == profiles.PoolReserve:
		d.reserve(s, m)
		formula = "memory × fraction − reserve − weights"
		text = fmt.Sprintf("%s × %s − %s − %s", total, share, reserve, weights)
	case s.engine.Pool == profiles.PoolFree:
		d.overheads(s, m)
		formula = "(memory − weights − activation − non-torch) × fraction"
		text = fmt.Sprintf("(%s − %s − %s − %s) × %s", total, weights, activation, other, share)
	default:
		d.overheads(s, m)
		formula = "memory × utilization − weights − activation − non-torch"
		text = fmt.Sprintf("%s × %s − %s − %s − %s", total, share, weights, activation, other)
		if s.engine.CUDAGraph.InBudget {
			formula += " − CUDA graphs"
			text += " − " + bytesFigure(float64(m.CUDAGraphBytes))
		}
	}
	d.add("KV pool per accelerator", formula, text, float64(m.KVCacheBytes), "B", s.engine.Source)
}

func (d *derivations) reserve(s *situation, m Memory) {
	r, in := s.engine.Reserve, s.inputs
	d.add("reserve", "base + bytes per batched token × max_num_batched_tokens + bytes per rank × ranks + graphs",
		fmt.Sprintf("%s + %s × %s + %s × %d + %s", bytesFigure(float64(r.BaseBytes)), bytesFigure(float64(r.PerBatchedTokenBytes)),
			units.Count(int64(in.MaxNumBatchedTokens)), bytesFigure(float64(r.PerRankBytes)), in.TensorParallel*in.PipelineParallel, bytesFigure(float64(r.GraphBytes))),
		float64(m.ReserveBytes), "B", s.engine.Source)
}

// overheads explains what engines allocate beside weights and cache.
func (d *derivations) overheads(s *situation, m Memory) {
	d.activation(s, m)
	if m.NonTorchBytes > 0 {
		d.note("non-torch memory", "device context and communication buffers", "a fact of the engine's version", float64(m.NonTorchBytes), "B", s.engine.Source)
	}
	if m.CUDAGraphBytes > 0 {
		where := "outside of the budget"
		if s.engine.CUDAGraph.InBudget {
			where = "inside the budget"
		}
		d.note("CUDA graphs", "memory of captured graphs, "+where, "a fact of the engine's version", float64(m.CUDAGraphBytes), "B", s.engine.Source)
	}
}

func (d *derivations) activation(s *situation, m Memory) {
	a := s.engine.Activation
	formula := "the larger of base + k × max_num_seqs × vocabulary, and the widest MLP over a step's tokens"
	text := fmt.Sprintf("max(%s + %s B × %s × %s, %s)", bytesFigure(float64(a.BaseBytes)), setting(a.PerSequenceVocabBytes),
		units.Count(int64(s.inputs.MaxNumSeqs)), units.Count(int64(s.model.VocabSize)), bytesFigure(s.mlpPeak()))
	if s.mixtureOfExperts() && a.MoEBytes > 0 {
		formula += "; more for experts"
		text += " + " + bytesFigure(float64(a.MoEBytes))
	}
	d.add("activation peak", formula, text, float64(m.ActivationBytes), "B", s.engine.Source)
}
