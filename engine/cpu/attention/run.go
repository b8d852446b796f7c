package attention

import "github.com/llmctl/llmctl/engine/kv"

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
// for each of them: what each has for itself, what they have together, and again what
// each has for itself.
func (j *job) passes(r pass, c int, do func(*job, pass)) {
	for i := r.first; i < r.end; i++ {
		low, high := j.tokens[i].inside(j.window, c)
		if high = min(high, r.low); low < high {
			do(j, pass{i, i + 1, low, high})
		}
	}
	if r.low < r.high {
		do(j, r)
	}
	for i := r.first; i < r.end; i++ {
		low, high := j.tokens[i].inside(j.window, c)
		if low = max(low, r.high); low < high {
			do(j, pass{i, i + 1, low, high})
		}
	}
}

// score computes the scores of a run. A prompt's tokens go over all positions of the
// chunk together: scores of those that a token does not see are cut off, whatever they
// are.
func (j *job) score(r pass, c int) {
	first, last := &j.tokens[r.first], &j.tokens[r.end-1]
	if same(first.table, last.table) {
		low, _ := first.inside(j.window, c)
		_, high := last.inside(j.window, c)
		j.scorePass(pass{r.first, r.end, low, high})
		return
	}
	j.passes(r, c, (*job).scorePass)
}
