package grammar

import "math"

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
func assemble(drafts []*draft, m *meter) *Grammar {
	g := &Grammar{}
	for i, d := range drafts {
		states := determinize(d, m, maxStates-len(g.states))
		g.rules = append(g.rules, rule{start: int32(len(g.states)), container: d.container, common: d.common})
		g.lay(int32(i), states)
		drafts[i] = nil // all of them and their automata at once would be much memory
	}
	g.measure(m)
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
