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

// A level is a set in the arena and how far the arena was filled with it. Where only one
// item of the set can read, node is not nil and both are here.
type level struct {
	lo, hi, calls, used int32
	state               int32
	node                *node
}

func (w *walker) reset() { w.items, w.calls, w.used = w.items[:0], w.calls[:0], 0 }

func (w *walker) back(l level) {
	w.items, w.calls, w.used = w.items[:l.hi], w.calls[:l.calls], int(l.used)
}

// here is the level of the items from lo on.
func (w *walker) here(lo int32) level {
	return level{lo: lo, hi: int32(len(w.items)), calls: int32(len(w.calls)), used: int32(w.used)}
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
func (w *walker) add(lo, calls, s int32, n *node) {
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
func (w *walker) call(lo, calls int32, c call, n *node) {
	if child := w.child(calls, c, n); child != nil {
		w.add(lo, calls, w.g.rules[c.rule].start, child)
	}
}

// child is a new node for a call within n; nil when the call may not be made, or when
// one of the same rule was made at the same position, which n then shares.
func (w *walker) child(calls int32, c call, n *node) *node {
	r := &w.g.rules[c.rule]
	depth := n.depth
	if r.container {
		depth++
	}
	if w.limited && max(depth+w.g.states[r.start].height, n.depth+w.g.states[c.to].height) > w.g.limit {
		return nil
	}
	e := edge{c.to, n}
	for _, made := range w.calls[calls:] {
		if made.rule == c.rule && made.depth == depth {
			if !slices.Contains(made.edges, e) {
				made.edges = append(made.edges, e)
			}
			return nil
		}
	}
	child := w.newNode(c.rule, depth)
	child.edges = append(child.edges, e)
	w.calls = append(w.calls, child)
	return child
}

// advance puts the set after one more byte on top of the arena.
func (w *walker) advance(from level, b byte) {
	w.accepts = false
	lo := int32(len(w.items))
	if from.node != nil && from.lo == from.hi { // the only item is not in the arena
		w.items = append(w.items, item{from.state, from.node})
		from.lo, from.hi = lo, lo+1
		lo++
	}
	// First the calls that wait for the byte, which belong to the position before it, so
	// that all of them are made when the byte is read.
	before := int32(len(w.calls))
	for i := from.lo; i < from.hi; i++ {
		it := w.items[i]
		for _, c := range w.g.states[it.state].lazy {
			if w.g.next(w.g.rules[c.rule].start, b) >= 0 {
				w.child(before, c, it.node)
			}
		}
	}
	calls := int32(len(w.calls))
	for _, n := range w.calls[before:calls] {
		w.enter(lo, calls, w.g.next(w.g.rules[n.rule].start, b), n)
	}
	for i := from.lo; i < from.hi; i++ {
		it := w.items[i]
		if next := w.g.next(it.state, b); next >= 0 {
			w.enter(lo, calls, next, it.node)
		}
	}
}

// enter adds a state that a byte led to, if its end is within the limit.
func (w *walker) enter(lo, calls, s int32, n *node) {
	if !w.limited || n.depth+w.g.states[s].height <= w.g.limit {
		w.add(lo, calls, s, n)
	}
}

// read advances over a text and returns the set after it, which is empty, with accepts
// unset, when the text may not come.
func (w *walker) read(items []item, text []byte) level {
	w.reset()
	w.items = append(w.items, items...)
	at := w.here(0)
	for _, b := range text {
		lo := int32(len(w.items))
		w.advance(at, b)
		at = w.here(lo)
		if at.lo == at.hi {
			break
		}
	}
	return at
}
