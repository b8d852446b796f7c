package attention

import (
	"github.com/llmctl/llmctl/engine/cpu/vector"
	"github.com/llmctl/llmctl/engine/model"
)

// state is what folding needs to know of the positions that a result stands for: their
// largest score, and the sum of the scores' exponentials, less it. A sum of 0 stands
// for no positions.
type state struct{ top, sum float32 }

// softmax replaces the scores of a chunk by their softmax within it.
func (j *job) softmax(c int) {
	rows := j.ranges[:0]
	for i := range j.tokens {
		low, high := j.tokens[i].inside(j.window, c)
		for g := range j.cache.group {
			if low == high {
				rows = append(rows, nil)
				continue
			}
			r := i*j.cache.group + g
			s := j.scores[r*j.width+low-j.base:][:high-low]
			rows = append(rows, s)
			if j.cache.cap > 0 {
				model.SoftCap(s, j.cache.cap)
			}
			j.states[r].top = vector.Largest(s)
			model.ExpAll(s, s, j.states[r].top, 1)
		}
	}
	j.ranges = rows
	sums(j.states, rows)
	for r, s := range rows {
		if len(s) > 0 {
			vector.Scale(s, s, 1/j.states[r].sum)
		}
	}
}

// sums sets each state's sum, of its row in ascending order. Four at a time: each is a
// chain of additions that wait for each other.
func sums(states []state, rows [][]float32) {
	for ; len(rows) >= 4; states, rows = states[4:], rows[4:] {
		n := min(len(rows[0]), len(rows[1]), len(rows[2]), len(rows[3]))
		a, b, c, d := rows[0][:n], rows[1][:n], rows[2][:n], rows[3][:n]
		var sumA, sumB, sumC, sumD float32
		for i, e := range a {
			sumA += e
			sumB += b[i]
			sumC += c[i]
			sumD += d[i]
		}
		for i, s := range [4]float32{sumA, sumB, sumC, sumD} {
			states[i].sum = sum(s, rows[i][n:])
		}
	}
	for i, row := range rows {
		states[i].sum = sum(0, row)
	}
}

func sum(s float32, row []float32) float32 {
	for _, e := range row {
		s += e
	}
	return s
}

// fold adds another result to dst, whose state is s.
func fold(dst []float32, s *state, other []float32, o state) {
	switch {
	case o.sum == 0:
		return
	case s.sum == 0:
		copy(dst, other)
		*s = o
		return
	}
	top := max(s.top, o.top)
	a, b := s.sum*model.Exp(s.top-top), o.sum*model.Exp(o.top-top)
	s.top, s.sum = top, a+b
	vector.Scale(dst, dst, a/s.sum)
	vector.Scale(other, other, b/s.sum)
	vector.Add(dst, other)
}

// output is where a row's result goes.
func (j *job) output(r *Rows, row int) []float32 {
	c := j.cache
	at := j.tokens[row/c.group].row*r.OutStride + (j.head*c.group+row%c.group)*c.dim
	return r.Out[at:][:c.dim]
}

// deliver folds the results of a chunk into the output.
func (j *job) deliver(r *Rows) {
	dim := j.cache.dim
	for row := range j.rows() {
		fold(j.output(r, row), &j.folded[row], j.out[row*j.outWidth:][:dim], j.states[row])
	}
}

// result is the memory for what a chunk gives a row, when it has to wait.
func (j *job) result(s *span, c, row int) []float32 {
	size := j.resultSize()
	return j.results[s.results+(((c-s.first)*j.cache.heads+j.head)*j.rows()+row)*size:][:size]
}

// keep stores the results of a chunk.
func (j *job) keep(s *span, c int) {
	dim := j.cache.dim
	for row, st := range j.states {
		to := j.result(s, c, row)
		copy(to, j.out[row*j.outWidth:][:dim])
		to[dim], to[dim+1] = st.top, st.sum
	}
}

// deliverAll folds what all chunks have kept into the output.
func (j *job) deliverAll(s *span, r *Rows) {
	dim := j.cache.dim
	for row := range j.rows() {
		to, st := j.output(r, row), state{}
		for c := s.first; c < s.end; c++ {
			from := j.result(s, c, row)
			fold(to, &st, from[:dim], state{from[dim], from[dim+1]})
		}
	}
}
