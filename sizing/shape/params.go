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
	p := Parameters{Embedding: int64(m.VocabSize)*embeddingWidth(m) + perLayerEmbedding(m), Small: outerSmall(m)}
	if !m.TiedEmbeddings {
		p.Head = int64(m.VocabSize) * embeddingWidth(m)
	}
	p.Embedding += int64(m.PositionRows) * int64(m.HiddenSize)
	p.Dense += int64(m.OuterLinear)
	var modules []module
	for _, layer := range m.Layers {
		modules = layerModules(modules[:0], m, layer)
		for _, x := range modules {
			p.add(x)
		}
	}
	return p
}

func (p *Parameters) add(x module) {
	switch x.part {
	case mixerPart:
		p.Attention += x.parameters
		switch x.spread {
		case byKV:
			p.KV += x.parameters
		case copied:
			p.Latent += x.parameters
		}
	case densePart:
		p.Dense += x.parameters
	case expertPart:
		p.Experts += x.parameters
		p.Visited += x.visited
	case routerPart:
		p.Router += x.parameters
	case smallPart:
		p.Small += x.parameters
	}
}

// embeddingWidth is the width of the token embeddings, which is the hidden one
// unless the model projects them (OPT-350M).
func embeddingWidth(m *profiles.Model) int64 {
	if m.EmbeddingWidth > 0 {
		return int64(m.EmbeddingWidth)
	}
	return int64(m.HiddenSize)
}

// perLayerEmbedding is Gemma 3n's second table: a short vector per token and
// layer.
func perLayerEmbedding(m *profiles.Model) int64 {
	return int64(m.PerLayerVocab) * int64(m.PerLayerWidth) * int64(len(m.Layers))
}

// outerSmall is what stands outside of layers and is never quantized: the last
// norm, norms of the embeddings, a bias of the head.
func outerSmall(m *profiles.Model) int64 {
	sum := int64(m.OuterNorms)*normSize(m) + int64(m.OuterSmall)
	if m.HeadBias {
		sum += int64(m.VocabSize)
	}
	return sum
}
