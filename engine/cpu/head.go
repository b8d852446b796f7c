package cpu

import (
	"math"

	"github.com/llmctl/llmctl/engine/cpu/matrix"
	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/model"
)

// roundPlaces bounds the places whose logits are in memory at once.
const roundPlaces = 32

// place is a token whose logits are wanted: the number-th of its sequence.
type place struct {
	sequence, row, number int
	broken                bool // what its token has become is not finite
}

// turn is a round's places first to last−1, all of one sequence.
type turn struct {
	first, last int
	over        bool // the sampler wants no further ones
}

// sample computes the logits of all places, in rounds, and hands them to samplers. The
// places of a sequence go to one worker in order, until the sampler has enough.
func (e *Executor) sample() {
	finished := -1 // a sequence that has enough
	for left := e.places; len(left) > 0; {
		e.round = e.round[:0]
		for len(left) > 0 && len(e.round) < roundPlaces {
			if left[0].sequence != finished {
				e.round = append(e.round, left[0])
			}
			left = left[1:]
		}
		if len(e.round) == 0 {
			return
		}
		e.score()
		if last := e.turns[len(e.turns)-1]; last.over {
			finished = e.round[last.first].sequence
		}
	}
}

// score computes the logits of a round and samples.
func (e *Executor) score() {
	n, stride := len(e.round), e.head.Panels()*matrix.Width
	e.turns = e.turns[:0]
	for i, p := range e.round {
		if i == 0 || p.sequence != e.round[i-1].sequence {
			e.turns = append(e.turns, turn{first: i})
		}
		e.turns[len(e.turns)-1].last = i + 1
	}
	e.ends.Resize(n, e.weights.Hidden)
	e.logits = grow(e.logits, n*stride)
	e.team.Run(n, e.each.prepare)
	e.multiply(product{parts: [3]factor{{&e.head, 0, nil}}, in: &e.ends, rows: n, dst: e.logits, stride: stride})
	e.team.Run(len(e.turns), e.each.take)
}

// preparePart norms what a place's token has become.
func (e *Executor) preparePart(_, part int) {
	w := e.weights
	p := &e.round[part]
	vector.Norm(e.ends.Row(part), e.x[p.row*w.Hidden:][:w.Hidden], w.FinalNorm, w.NormEpsilon)
	p.broken = !finite(e.ends.Row(part)) // eight bits have no NaN, so that logits would not show it
	if e.head.Quantized() {
		e.ends.Quantize(part, 0, w.Hidden)
	}
}

// takePart samples the places of a sequence.
func (e *Executor) takePart(worker, part int) {
	w, t := e.weights, &e.turns[part]
	for i := t.first; i < t.last && !t.over; i++ {
		logits := e.logits[i*e.head.Panels()*matrix.Width:][:w.Vocab]
		if w.LogitCap > 0 {
			model.SoftCap(logits, w.LogitCap)
		}
		if w.Offsets != nil {
			vector.Add(logits, w.Offsets)
		}
		p := e.round[i]
		if p.broken {
			logits[0] = float32(math.NaN())
		}
		t.over = !e.workers[worker].sampler.Take(e.rows[p.row].sequence, p.number, logits)
	}
}

// finite reports whether no value is NaN or infinite.
func finite(values []float32) bool {
	for _, v := range values {
		if v-v != 0 {
			return false
		}
	}
	return true
}
