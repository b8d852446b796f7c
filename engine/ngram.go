package engine

import "slices"

// maxGram bounds how much of the end of a text is looked for.
const maxGram = 16

// proposer finds where the end of a text stood before. Of the n-grams of each length
// it keeps where each stood first, so that a token costs no more in a long text than in
// a short one.
type proposer struct {
	min, max int
	indexed  int // tokens that the tables have seen
	grams    []grams
}

func newProposer(shortest, longest int) *proposer {
	p := &proposer{min: shortest, max: longest}
	for n := shortest; n <= longest; n++ {
		p.grams = append(p.grams, grams{n: n})
	}
	return p
}

// update sees the tokens that a text has grown by, but for its end: the last n-gram
// of each length is what will be looked for, and must not be found itself.
func (p *proposer) update(tokens []int32) {
	for end := p.indexed + 1; end < len(tokens); end++ {
		for i := range p.grams {
			if g := &p.grams[i]; end >= g.n {
				g.add(tokens, end-g.n)
			}
		}
	}
	p.indexed = max(p.indexed, len(tokens)-1)
}

// propose appends what came after the first place at which the end of the text,
// the longest that there is, stood before: at most k tokens.
func (p *proposer) propose(dst, tokens []int32, k int) []int32 {
	for _, g := range slices.Backward(p.grams) {
		if len(tokens) < g.n {
			continue
		}
		if at := g.find(tokens, len(tokens)-g.n); at >= 0 {
			next := at + g.n
			return append(dst, tokens[next:min(next+k, len(tokens))]...)
		}
	}
	return dst
}

// grams is a hash table of the n-grams of a text, open, with linear probing, that
// holds the place at which each stands first.
type grams struct {
	n     int
	slots []int32 // place + 1; 0 is free
	used  int
}

// add notes the n-gram at a place, unless it stood before.
func (g *grams) add(tokens []int32, at int) {
	if 2*g.used >= len(g.slots) {
		g.resize(tokens)
	}
	if i := g.slot(tokens, at); g.slots[i] == 0 {
		g.slots[i] = int32(at + 1)
		g.used++
	}
}

// find is the first place of the n-gram that stands at a place; −1 when it is not
// noted.
func (g *grams) find(tokens []int32, at int) int {
	if len(g.slots) == 0 {
		return -1
	}
	return int(g.slots[g.slot(tokens, at)]) - 1
}

// slot is where an n-gram is, or would be.
func (g *grams) slot(tokens []int32, at int) int {
	gram := tokens[at : at+g.n]
	h := uint64(g.n)
	for _, t := range gram {
		h = (h ^ uint64(uint32(t))) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	mask := len(g.slots) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		place := int(g.slots[i]) - 1
		if place < 0 || slices.Equal(tokens[place:place+g.n], gram) {
			return i
		}
	}
}

func (g *grams) resize(tokens []int32) {
	old := g.slots
	g.slots = make([]int32, max(64, 2*len(old)))
	for _, place := range old {
		if place > 0 {
			g.slots[g.slot(tokens, int(place-1))] = place
		}
	}
}
