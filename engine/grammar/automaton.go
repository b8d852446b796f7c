package grammar

import (
	"math"
	"slices"
)

// nowhere is the target of a byte that may not come.
const nowhere = -1

// never is the depth that a state needs which cannot reach its end.
const never = math.MaxInt32

// endless is a run that is longer than any token.
const endless = 2 * maxToken

// A Grammar says which texts may be written. It is a set of rules, each a
// deterministic automaton over bytes and calls of rules: together a pushdown
// automaton whose stack is the calls that have not ended. It is immutable and safe
// for concurrent use, but for the masks that it keeps per vocabulary, which guard
// themselves.
type Grammar struct {
	rules  []rule
	states []state
	cells  []int32 // transition tables, a row for each state that reads bytes
	height int32   // the most depth that any state needs to reach its end
	limit  int32   // of containers within one another
	kept   keeper
}

// A rule is an automaton of the grammar.
type rule struct {
	start     int32
	container bool
	common    bool       // the same in all grammars: a string without bounds
	classes   [256]uint8 // bytes that no state of the rule tells apart are one class
}

// A state of a rule.
type state struct {
	row   int32 // into cells, or nowhere when no byte may come
	rule  int32
	final bool
	// run is how many plain bytes may come one after the other, whatever they are, with
	// nothing that follows without reading in between: endless in a string without a
	// bound, what is left of the bound in others.
	run   int32
	calls []call // made as soon as the state is reached
	lazy  []call // made by the byte that begins the rule
	more  bool   // final, or has calls: something follows without reading
	// height is the least number of containers that must still be opened within one
	// another to reach the rule's end.
	height int32
}

// assemble makes the automaton of rules that have been written. Rule 0 is what the
// whole text must be.
func assemble(drafts []*draft) *Grammar {
	g := &Grammar{}
	budget := maxWork
	local := make([][]fixed, len(drafts))
	total := 0
	for i, d := range drafts {
		local[i] = determinize(d, &budget, maxStates-total)
		g.rules = append(g.rules, rule{start: int32(total), container: d.container, common: d.common})
		total += len(local[i])
	}
	for i, states := range local {
		g.lay(int32(i), states)
	}
	g.measure()
	if g.states[g.rules[0].start].height == never {
		fail("schema allows no value at all: its keywords contradict each other")
	}
	g.prune()
	g.postpone()
	g.runs()
	g.limit = depthOfNesting + g.height
	return g
}

// lay appends a rule's states and transition tables.
func (g *Grammar) lay(r int32, states []fixed) {
	classes := &g.rules[r].classes
	var cut [256]bool
	for _, s := range states {
		for _, b := range s.branches {
			cut[b.first] = true
		}
	}
	class := uint8(0)
	for c := 1; c < 256; c++ {
		if cut[c] {
			class++
		}
		classes[c] = class
	}
	width := int(class) + 1
	base := g.rules[r].start
	for _, s := range states {
		st := state{row: nowhere, rule: r, final: s.final}
		for _, c := range s.calls {
			st.calls = append(st.calls, call{rule: c.rule, to: base + c.to})
		}
		if len(s.branches) > 0 {
			if len(g.cells)+width > maxCells {
				tooLarge("more than %d cells of transition tables", maxCells)
			}
			st.row = int32(len(g.cells))
			g.row(classes, base, width, s.branches)
		}
		g.states = append(g.states, st)
	}
}

func (g *Grammar) row(classes *[256]uint8, base int32, width int, branches []branch) {
	row := len(g.cells)
	g.cells = append(g.cells, make([]int32, width)...)
	for i, b := range branches {
		end := 256
		if i+1 < len(branches) {
			end = int(branches[i+1].first)
		}
		to := b.to
		if to != nowhere {
			to += base
		}
		for c := int(classes[b.first]); c <= int(classes[end-1]); c++ {
			g.cells[row+c] = to
		}
	}
}

// next is the state after a byte, or nowhere.
func (g *Grammar) next(s int32, b byte) int32 {
	st := &g.states[s]
	if st.row < 0 {
		return nowhere
	}
	return g.cells[st.row+int32(g.rules[st.rule].classes[b])]
}

// width is the number of classes of a rule's bytes.
func (g *Grammar) width(r int32) int32 { return int32(g.rules[r].classes[255]) + 1 }

// cost is the depth that a call needs, where its rule is known to need that much.
func (g *Grammar) cost(r int32) int32 {
	h := g.states[g.rules[r].start].height
	if h != never && g.rules[r].container {
		h++
	}
	return h
}

// measure finds the height of every state: the least fixed point, from below in the
// number of calls that may be nested. Rules are visited from the last to the first,
// because a rule mostly calls those that were written after it.
func (g *Grammar) measure() {
	for i := range g.states {
		if !g.states[i].final {
			g.states[i].height = never
		}
	}
	end := make([]int32, len(g.rules)+1)
	for r := range g.rules {
		end[r] = g.rules[r].start
	}
	end[len(g.rules)] = int32(len(g.states))
	work := maxWork
	for changed := true; changed; {
		changed = false
		for r := len(g.rules) - 1; r >= 0; r-- {
			for again := true; again; {
				again = false
				for s := end[r+1] - 1; s >= end[r]; s-- {
					if g.lower(s, &work) {
						again, changed = true, true
					}
				}
			}
		}
	}
	for i := range g.states {
		if h := g.states[i].height; h != never {
			g.height = max(g.height, h)
		}
	}
}

// lower recomputes the height of a state and says whether it fell.
func (g *Grammar) lower(s int32, work *int) bool {
	st := &g.states[s]
	if st.height == 0 {
		return false
	}
	least := st.height
	for _, c := range st.calls {
		least = min(least, max(g.cost(c.rule), g.states[c.to].height))
	}
	if st.row >= 0 {
		w := g.width(st.rule)
		if *work -= int(w); *work < 0 {
			tooLarge("its values refer to each other too much")
		}
		for _, to := range g.cells[st.row : st.row+w] {
			if to >= 0 {
				least = min(least, g.states[to].height)
			}
		}
	}
	fell := least < st.height
	st.height = least
	return fell
}

// prune cuts all ways that lead to no end.
func (g *Grammar) prune() {
	for i, to := range g.cells {
		if to >= 0 && g.states[to].height == never {
			g.cells[i] = nowhere
		}
	}
	for i := range g.states {
		st := &g.states[i]
		if st.row >= 0 && slices.Max(g.cells[st.row:st.row+g.width(st.rule)]) == nowhere {
			st.row = nowhere
		}
		st.calls = slices.DeleteFunc(st.calls, func(c call) bool {
			return g.cost(c.rule) == never || g.states[c.to].height == never
		})
	}
}

// postpone tells the calls that can wait for a byte from the others. Most can: strings,
// objects and white space begin with certain bytes, and a set of states is small when
// it does not hold the beginnings of all that may come.
func (g *Grammar) postpone() {
	waits := make([]bool, len(g.rules))
	for r := range g.rules {
		begin := &g.states[g.rules[r].start]
		waits[r] = !begin.final && len(begin.calls) == 0
	}
	for i := range g.states {
		st := &g.states[i]
		var calls []call
		for _, c := range st.calls {
			if waits[c.rule] {
				st.lazy = append(st.lazy, c)
			} else {
				calls = append(calls, c)
			}
		}
		st.calls = calls
		st.more = st.final || len(calls) > 0
	}
}

// reads says whether a byte may come in a state.
func (st *state) reads() bool { return st.row >= 0 || len(st.lazy) > 0 }

// runs finds the run of every state. States are numbered as they are reached, so that
// most runs are known when those before them are found; others are taken for shorter
// than they are, which only makes masks slower.
func (g *Grammar) runs() {
	for s := int32(len(g.states)) - 1; s >= 0; s-- {
		to := g.next(s, ' ')
		if to < 0 || g.states[to].more {
			continue
		}
		uniform := true
		for b := byte('!'); b <= '~' && uniform; b++ {
			uniform = !plain(b) || g.next(s, b) == to
		}
		switch {
		case uniform && to == s:
			g.states[s].run = endless
		case uniform:
			g.states[s].run = min(endless, 1+g.states[to].run)
		}
	}
}
