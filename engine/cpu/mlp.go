package cpu

import (
	"github.com/llmctl/llmctl/engine/cpu/matrix"
	"github.com/llmctl/llmctl/engine/model"
)

// group is the tokens that go through one MLP: rows first to last−1 of the inputs, the
// inner activations and the outputs.
type group struct {
	*expert
	first, last int
	gateCut     cut
	downCut     cut
	gateParts   int // of the groups before this one
	downParts   int
}

// quantizesMLP says whether the layer's MLP or its router wants quantized inputs.
func (e *Executor) quantizesMLP(l *layer) bool {
	return quantized(&l.router, &l.experts[0].gate, &l.experts[0].up)
}

// feedForward is the second half of a layer: it adds the MLP's output to the residual
// stream. The inputs are normed already.
func (e *Executor) feedForward() {
	l := &e.layers[e.layer]
	if l.router.In > 0 {
		e.mixture(l)
		return
	}
	e.groups = append(e.groups[:0], group{expert: &l.experts[0], last: len(e.rows)})
	e.inputs = &e.normed
	e.gate(len(e.rows))
	e.multiply(e.residual(factor{&l.experts[0].down, 0, nil}, &e.gated, l.PostMLPNorm))
	if l.PostMLPNorm != nil {
		e.normalize(spread{update: true, post: l.PostMLPNorm})
	}
}

// gate computes the inner activations of all groups, n rows together.
func (e *Executor) gate(n int) {
	parts, unit := 0, 1
	if e.groups[0].down.Quantized() {
		unit = matrix.Block / matrix.Width // so that parts are whole blocks
	}
	for i := range e.groups {
		g := &e.groups[i]
		g.gateParts = parts
		g.gateCut = cutFor(g.last-g.first, g.expert.gate.Panels(), unit, len(e.workers))
		parts += g.gateCut.parts(g.last - g.first)
	}
	e.gated.Resize(n, e.groups[0].width())
	e.team.Run(parts, e.each.gate)
}

func (e *Executor) gatePart(worker, part int) {
	i := len(e.groups) - 1
	for e.groups[i].gateParts > part {
		i--
	}
	g, w := &e.groups[i], &e.workers[worker]
	first, last, from, to := g.gateCut.of(part-g.gateParts, g.last-g.first, g.expert.gate.Panels())
	first, last = first+g.first, last+g.first
	stride := (to - from) * matrix.Width
	begin, end := from*matrix.Width, min(to*matrix.Width, g.width())
	g.expert.gate.Multiply(w.tile, stride, e.inputs, first, last, from, to)
	g.expert.up.Multiply(w.up, stride, e.inputs, first, last, from, to)
	for r := range last - first {
		at, n := r*stride, end-begin
		model.Gate(e.gated.Row(first + r)[begin:end], w.tile[at:at+n], w.up[at:at+n], e.weights.Activation)
		if g.expert.down.Quantized() {
			e.gated.Quantize(first+r, begin, end)
		}
	}
}
