package attention

import (
	"math"

	"github.com/llmctl/llmctl/engine/kv"
)

// pass is some neighbours among a tile's tokens, and positions that they go over
// together, in the same blocks.
type pass struct {
	first, end int // of the tile's tokens
	low, high  int // positions
}

// gather finds the runs of a chunk: neighbours that begin in the same block, and what
// all of them see, which may be nothing.
func (j *job) gather(c int) {
	size := j.cache.blockSize
	j.runs = j.runs[:0]
	for first := 0; first < len(j.tokens); {
		table := j.tokens[first].table
		begin, high := j.tokens[first].inside(j.window, c)
		if begin == high {
			first++
			continue
		}
		low, end := begin, first+1
		for ; end < len(j.tokens); end++ {
			other := &j.tokens[end]
			l, h := other.inside(j.window, c)
			if l == h || h <= begin || other.table[begin/size] != table[begin/size] {
				break
			}
			low, high = max(low, l), min(high, h)
		}
		for i := first + 1; i < end; i++ {
			high = common(table, j.tokens[i].table, low, high, size)
		}
		j.runs = append(j.runs, pass{first, end, low, max(low, high)})
		first = end
	}
}

// common returns where two tables part, between two positions.
func common(a, b []kv.Block, low, high, size int) int {
	if same(a, b) {
		return high
	}
	for at := low; at < high; at = (at/size + 1) * size {
		if a[at/size] != b[at/size] {
			return at
		}
	}
	return high
}

// same says whether two tables are one.
func same(a, b []kv.Block) bool { return &a[0] == &b[0] && len(a) == len(b) }

// passes calls do for what the tokens of a run go over, in ascending order of position
// for each of them: what each has for itself, what all have together, what those of one
// sequence have together, and again what each has for itself.
func (j *job) passes(r pass, c int, do func(*job, pass)) {
	j.before(r, c, do)
	for first := r.first; first < r.end; {
		s := j.sequence(r, first)
		first = s.end
		s.low, s.high = 0, math.MaxInt
		for i := s.first; i < s.end; i++ {
			low, high := j.tokens[i].inside(j.window, c)
			s.low, s.high = max(s.low, low, r.high), min(s.high, high)
		}
		s.high = max(s.low, s.high)
		for i := s.first; i < s.end; i++ {
			low, high := j.tokens[i].inside(j.window, c)
			j.own(i, max(low, r.high), min(high, s.low), do)
		}
		if s.low < s.high {
			do(j, s)
		}
		for i := s.first; i < s.end; i++ {
			low, high := j.tokens[i].inside(j.window, c)
			j.own(i, max(low, s.high), high, do)
		}
	}
}

// before calls do for what tokens have before and in the common part of a run.
func (j *job) before(r pass, c int, do func(*job, pass)) {
	for i := r.first; i < r.end; i++ {
		low, high := j.tokens[i].inside(j.window, c)
		j.own(i, low, min(high, r.low), do)
	}
	if r.low < r.high {
		do(j, r)
	}
}

// own calls do for positions that a token goes over for itself.
func (j *job) own(i, low, high int, do func(*job, pass)) {
	if low < high {
		do(j, pass{i, i + 1, low, high})
	}
}

// sequence are the tokens of a run that belong to one sequence, from one of them on.
func (j *job) sequence(r pass, first int) pass {
	end := first + 1
	for end < r.end && same(j.tokens[first].table, j.tokens[end].table) {
		end++
	}
	return pass{first: first, end: end}
}

// score computes the scores of a run. A sequence's tokens go over all of its positions
// together: scores of those that a token does not see are cut off, whatever they are.
func (j *job) score(r pass, c int) {
	if s := j.sequence(r, r.first); s.end == r.end {
		r.low, r.high = 0, 0
	}
	j.before(r, c, (*job).scorePass)
	for first := r.first; first < r.end; {
		s := j.sequence(r, first)
		first = s.end
		s.low, _ = j.tokens[s.first].inside(j.window, c)
		_, s.high = j.tokens[s.end-1].inside(j.window, c)
		if s.low = max(s.low, r.high); s.low < s.high {
			j.scorePass(s)
		}
	}
}
