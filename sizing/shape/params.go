package shape

import "github.com/llmctl/llmctl/profiles"

// Parameters counts weights by what becomes of them: embeddings and the head
// are split by vocabulary and rarely quantized, linear layers are split by heads
// or width and quantized, experts are read only when a token visits them.
type Parameters struct {
	Embedding int64 // token embeddings
	Head      int64 // output projection; 0 when it is the embeddings
	Attention int64 // projections of all token mixers
	KV        int64 // the part of Attention that makes K and V by heads (copied when TP exceeds the KV heads)
	Latent    int64 // the part of Attention that every rank holds whole: latent compressions, sparse index
	Dense     int64 // dense MLPs and shared experts
	Experts   int64 // all routed experts
	Visited   int64 // the routed experts that one token visits
	Router    int64 // routers and shared-expert gates
	Small     int64 // norms and biases, never quantized
}

// Total is the number of parameters, with tied embeddings counted once.
func (p Parameters) Total() int64 {
	return p.Embedding + p.Head + p.Attention + p.Dense + p.Experts + p.Router + p.Small
}

// Active is the number of parameters that one token uses: all but the experts
// that it does not visit.
func (p Parameters) Active() int64 { return p.Total() - p.Experts + p.Visited }

// Multiplied is the number of parameters that a token is multiplied with in one
// forward pass: active ones without the embedding, which is a look-up. A tied
// embedding is multiplied as the head.
func (p Parameters) Multiplied() int64 {
	if p.Head == 0 {
		return p.Active()
	}
	return p.Active() - p.Embedding
}

// CountParameters counts the parameters of a model's text part, without extra
// prediction layers (MTP) and without a vision tower.
func CountParameters(m *profiles.Model) Parameters {
	h := int64(m.HiddenSize)
	p := Parameters{Embedding: int64(m.VocabSize) * h, Small: h}
	if !m.TiedEmbeddings {
		p.Head = p.Embedding
	}
	for _, layer := range m.Layers {
		p.addAttention(m, layer.Attention)
		p.addMLP(m, layer.MLP)
		p.Small += int64(m.Norms) * h
	}
	return p
}

func (p *Parameters) addAttention(m *profiles.Model, a profiles.Attention) {
	h := int64(m.HiddenSize)
	heads, kv := int64(a.Heads), int64(a.KVHeads)
	dim, value := int64(a.HeadDim), int64(a.ValueDim)
	p.addMixer(h, a.State)
	switch a.Kind {
	case profiles.NoAttention, profiles.LinearAttention:
	case profiles.LatentAttention:
		p.addLatent(h, a)
	default:
		made := kv * (dim + value)
		if a.SharedKV {
			made = kv * dim
		}
		p.KV += h * made
		p.Attention += h*heads*dim + h*made + heads*value*h
		if a.OutputGate {
			p.Attention += h * heads * dim
		}
		if m.AttentionBias {
			p.Small += heads*dim + made
		}
		if m.OutputBias {
			p.Small += h
		}
		if m.QKNorm {
			p.Small += 2 * dim
		}
	}
}

// addLatent counts MLA: a compressed query (or a plain one), the joint
// compression of K and V with the shared rotary key, its expansion, the output,
// and where there is one the index of sparse attention (DeepSeek-V3.2).
func (p *Parameters) addLatent(h int64, a profiles.Attention) {
	heads, rank, query := int64(a.Heads), int64(a.LatentRank), int64(a.QueryRank)
	dim, rope, value := int64(a.HeadDim), int64(a.RopeHeadDim), int64(a.ValueDim)
	if query > 0 {
		p.Attention += h*query + query*heads*dim
		p.Small += query
	} else {
		p.Attention += h * heads * dim
	}
	p.Latent += h*(rank+rope) + h*query
	p.Attention += h*(rank+rope) + rank*heads*(dim-rope+value) + heads*value*h
	p.Small += rank
	if a.IndexDim > 0 {
		width, n := int64(a.IndexDim), int64(a.IndexHeads)
		from := query
		if from == 0 {
			from = h
		}
		index := from*n*width + h*width + h*n
		p.Attention += index
		p.Latent += index
		p.Small += 2 * width
	}
}

func (p *Parameters) addMLP(m *profiles.Model, x profiles.MLP) {
	h := int64(m.HiddenSize)
	matrices := int64(2)
	if x.Gated {
		matrices = 3
	}
	p.Dense += matrices * h * int64(x.Intermediate+x.SharedIntermediate)
	if m.MLPBias {
		p.Small += (matrices-1)*int64(x.Intermediate) + h*int64(min(1, x.Intermediate))
	}
	if x.Experts == 0 {
		return
	}
	inner := h
	if x.ExpertHidden > 0 {
		inner = int64(x.ExpertHidden)
		p.Dense += 2 * h * inner
	}
	one := matrices * inner * int64(x.ExpertIntermediate)
	if x.RouterBias {
		p.Small += int64(x.Experts)
	}
	if m.MLPBias {
		one += (matrices-1)*int64(x.ExpertIntermediate) + h
	}
	p.Experts += one * int64(x.Experts)
	p.Visited += one * int64(x.ExpertsPerToken)
	p.Router += h * int64(x.Experts)
	if x.SharedGate {
		p.Router += h
	}
}
