package cpu

import (
	"math"

	"github.com/llmctl/llmctl/engine/cpu/matrix"
	"github.com/llmctl/llmctl/engine/model"
)

// routing is which experts the step's tokens go to in a layer. A slot is one token in
// one expert; the slots of one expert are next to each other. What a token gets does
// not depend on who else is there: its experts' outputs are added in order of its own
// preference.
type routing struct {
	scores []float32 // of the router, then their softmax, [row][experts]
	picks  []pick    // [row][experts per token], likeliest first
	rows   []int     // of each slot
	inputs matrix.Rows
	output []float32 // [slot][hidden]
}

// pick is one of a token's experts.
type pick struct {
	expert, slot int
	weight       float32
}

// mixture is feedForward for a layer with experts.
func (e *Executor) mixture(l *layer) {
	w, m := e.weights, &e.routing
	m.scores = grow(m.scores, len(e.rows)*len(l.experts))
	m.picks = grow(m.picks, len(e.rows)*w.Experts.PerToken)
	e.multiply(product{
		parts: [3]factor{{&l.router, 0, nil}}, in: &e.normed, rows: len(e.rows), dst: m.scores, stride: len(l.experts),
	})
	e.byRows(e.each.route)
	e.assign(l)
	n := len(m.rows)
	m.inputs.Resize(n, w.Hidden)
	m.output = grow(m.output, n*w.Hidden)
	e.team.Run(n, e.each.gather)
	e.inputs = &m.inputs
	e.gate(n)
	parts := 0
	for i := range e.groups {
		g := &e.groups[i]
		g.downParts = parts
		g.downCut = cutFor(g.last-g.first, g.down.Panels(), 1, len(e.workers))
		parts += g.downCut.parts(g.last - g.first)
	}
	e.team.Run(parts, e.each.down)
	e.byRows(e.each.combine)
	e.normalize(spread{update: true, post: l.PostMLPNorm})
}

// routePart picks experts: the largest of the router's softmax, the first of equal
// ones.
func (e *Executor) routePart(_, part int) {
	m, experts := &e.routing, e.weights.Experts
	first, last := e.rowsOf(part)
	for r := first; r < last; r++ {
		scores := m.scores[r*experts.Count:][:experts.Count]
		softmax(scores)
		picks, sum := m.picks[r*experts.PerToken:][:experts.PerToken], float32(0)
		for i := range picks {
			best := 0
			for x, s := range scores {
				if s > scores[best] {
					best = x
				}
			}
			picks[i] = pick{expert: best, weight: scores[best]}
			sum += scores[best]
			scores[best] = float32(math.Inf(-1))
		}
		if !experts.Normalize {
			continue
		}
		for i := range picks {
			picks[i].weight /= sum
		}
	}
}

func softmax(s []float32) {
	top, sum := s[0], float32(0)
	for _, v := range s {
		top = max(top, v)
	}
	for i, v := range s {
		s[i] = model.Exp(v - top)
		sum += s[i]
	}
	for i := range s {
		s[i] /= sum
	}
}

// assign gives every pick a slot and makes a group of every expert that has some.
func (e *Executor) assign(l *layer) {
	m, per := &e.routing, e.weights.Experts.PerToken
	e.groups, m.rows = e.groups[:0], m.rows[:0]
	for x := range l.experts {
		first := len(m.rows)
		for i := range m.picks {
			if m.picks[i].expert == x {
				m.picks[i].slot = len(m.rows)
				m.rows = append(m.rows, i/per)
			}
		}
		if len(m.rows) > first {
			e.groups = append(e.groups, group{expert: &l.experts[x], first: first, last: len(m.rows)})
		}
	}
}

// gatherPart copies a slot's input.
func (e *Executor) gatherPart(_, slot int) {
	e.routing.inputs.Copy(slot, &e.normed, e.routing.rows[slot])
}

func (e *Executor) downPart(worker, part int) {
	i := len(e.groups) - 1
	for e.groups[i].downParts > part {
		i--
	}
	g, hidden := &e.groups[i], e.weights.Hidden
	p := product{dst: e.routing.output[g.first*hidden:], stride: hidden, in: &e.gated, first: g.first}
	first, last, from, to := g.downCut.of(part-g.downParts, g.last-g.first, g.down.Panels())
	p.write(&factor{&g.down, 0, nil}, e.workers[worker].tile, first, last, from, to)
}

// combinePart adds up what a token's experts made of it.
func (e *Executor) combinePart(_, part int) {
	m, hidden, per := &e.routing, e.weights.Hidden, e.weights.Experts.PerToken
	first, last := e.rowsOf(part)
	for r := first; r < last; r++ {
		update := e.update[r*hidden:][:hidden]
		clear(update)
		for _, p := range m.picks[r*per:][:per] {
			for i, v := range m.output[p.slot*hidden:][:hidden] {
				update[i] += float32(p.weight * v)
			}
		}
	}
}
