package grammar

import "slices"

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
func (g *Grammar) measure(m *meter) {
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
	for changed := true; changed; {
		changed = false
		for r := len(g.rules) - 1; r >= 0; r-- {
			for again := true; again; {
				again = false
				for s := end[r+1] - 1; s >= end[r]; s-- {
					if g.lower(s, m) {
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
func (g *Grammar) lower(s int32, m *meter) bool {
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
		m.spend(int(w)/8 + 1)
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
