package grammar

import "slices"

// A node is a call that has not ended: a place in a rule to go on at, for each of those
// that called it. Calls of one rule at one position are one node whoever made them, so
// that ambiguous grammars cost no more than their rules times the nesting: the stack is
// the graph of Scott and Johnstone, GLL Parsing (2010). Once the position's closure is
// complete a node does not change.
type node struct {
	edges []edge
	rule  int32 // −1 for the root, whose end is the end of the text
	depth int32 // containers that are open
}

type edge struct {
	to   int32
	node *node
}

// An item is one way to read the text so far: a state, and the call that it is in.
type item struct {
	state int32
	node  *node
}

// A walker moves sets of items over bytes. All sets lie in one arena, those of longer
// texts above those of shorter ones, so that going back is cutting.
type walker struct {
	g *Grammar
	v *Vocabulary

	items   []item
	calls   []*node // that were made at the positions in the arena
	pool    []*node
	used    int
	levels  []level
	keep    bool // nodes are to outlive the walk
	limited bool // nesting is held to the limit
	accepts bool // the text may end at the position that was reached last
}

// A level is a set in the arena and how far the arena was filled with it.
type level struct {
	lo, hi, calls, used int
}

func (w *walker) reset() { w.items, w.calls, w.used = w.items[:0], w.calls[:0], 0 }

func (w *walker) back(l level) {
	w.items, w.calls, w.used = w.items[:l.hi], w.calls[:l.calls], l.used
}

// here is the level of the items from lo on.
func (w *walker) here(lo int) level {
	return level{lo: lo, hi: len(w.items), calls: len(w.calls), used: w.used}
}

func (w *walker) newNode(rule, depth int32) *node {
	if w.keep {
		return &node{rule: rule, depth: depth}
	}
	if w.used == len(w.pool) {
		w.pool = append(w.pool, &node{})
	}
	n := w.pool[w.used]
	w.used++
	n.edges, n.rule, n.depth = n.edges[:0], rule, depth
	return n
}

// add puts an item and all that follows from it without reading into the set that
// begins at lo; calls of the same position begin at calls.
func (w *walker) add(lo, calls int, s int32, n *node) {
	for _, it := range w.items[lo:] {
		if it.state == s && it.node == n {
			return
		}
	}
	w.items = append(w.items, item{s, n})
	st := &w.g.states[s]
	if st.final {
		w.accepts = w.accepts || n.rule < 0
		for _, e := range n.edges {
			w.add(lo, calls, e.to, e.node)
		}
	}
	for _, c := range st.calls {
		w.call(lo, calls, c, n)
	}
}

// call begins a rule within n. No rule that is called reads nothing, so that a node
// does not end where it begins.
func (w *walker) call(lo, calls int, c call, n *node) {
	r := &w.g.rules[c.rule]
	depth := n.depth
	if r.container {
		depth++
	}
	if w.limited && max(depth+w.g.states[r.start].height, n.depth+w.g.states[c.to].height) > w.g.limit {
		return
	}
	e := edge{c.to, n}
	for _, made := range w.calls[calls:] {
		if made.rule == c.rule && made.depth == depth {
			if !slices.Contains(made.edges, e) {
				made.edges = append(made.edges, e)
			}
			return
		}
	}
	child := w.newNode(c.rule, depth)
	child.edges = append(child.edges, e)
	w.calls = append(w.calls, child)
	w.add(lo, calls, r.start, child)
}

// advance puts the set after one more byte on top of the arena.
func (w *walker) advance(from level, b byte) {
	w.accepts = false
	lo, calls := len(w.items), len(w.calls)
	for i := from.lo; i < from.hi; i++ {
		it := w.items[i]
		next := w.g.next(it.state, b)
		if next < 0 || w.limited && it.node.depth+w.g.states[next].height > w.g.limit {
			continue
		}
		w.add(lo, calls, next, it.node)
	}
}

// read advances over a text and returns the set after it, which is empty, with accepts
// unset, when the text may not come.
func (w *walker) read(items []item, text []byte) level {
	w.reset()
	w.items = append(w.items, items...)
	at := w.here(0)
	for _, b := range text {
		w.advance(at, b)
		at = w.here(at.hi)
		if at.lo == at.hi {
			break
		}
	}
	return at
}

// scan finds the tokens in a stretch of the trie that may come after the set at from,
// which stands at a node of the given depth. When escapes is not nil, it gets the nodes
// at which the text may end and the tokens go on.
func (w *walker) scan(begin, end int32, from level, depth uint16, bits []uint64, escapes *[]int32) {
	v := w.v
	w.levels = append(w.levels[:0], from)
	for i := begin; i < end; {
		d := int(v.depth[i] - depth)
		at := w.levels[d-1]
		w.levels = w.levels[:d]
		w.back(at)
		w.advance(at, v.label[i])
		if len(w.items) == at.hi {
			i = v.after[i]
			continue
		}
		if t := v.token[i]; t >= 0 {
			bits[t>>6] |= 1 << (t & 63)
			if len(v.same) > 0 {
				for _, t := range v.same[t] {
					bits[t>>6] |= 1 << (t & 63)
				}
			}
		}
		if escapes != nil && w.accepts && v.after[i] > i+1 {
			*escapes = append(*escapes, i)
		}
		w.levels = append(w.levels, w.here(at.hi))
		i++
	}
}
