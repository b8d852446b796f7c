package grammar

// scan finds the texts of a trie that may come after the set at from, and sets the bits
// of their tokens. When escapes is not nil, it gets the nodes at which the text may end
// and texts of the trie go on.
func (w *walker) scan(t *trie, from level, bits []uint64, escapes *[]int32) {
	if len(w.levels) <= t.deepest {
		w.levels = make([]level, t.deepest+1)
	}
	w.levels[0] = w.settle(from)
	states := w.g.states
	for i, end := int32(0), int32(len(t.label)); i < end; {
		d := t.depth[i]
		at := &w.levels[d-1]
		if at.node != nil {
			if states[at.state].run >= int32(t.tall[i]) {
				allow(bits, t.tokens[t.first[i]:t.first[t.after[i]]])
				i = t.after[i]
				continue
			}
			// Mostly one item goes to a state from which nothing follows without
			// reading, and the arena is left alone.
			s := w.g.next(at.state, t.label[i])
			if s < 0 && len(states[at.state].lazy) == 0 {
				i = t.after[i]
				continue
			}
			if s >= 0 && !states[s].more && !w.limited && !w.begins(at.state, t.label[i]) {
				allow(bits, t.tokens[t.first[i]:t.first[i+1]])
				w.levels[d].follow(at, s)
				i++
				continue
			}
		}
		w.back(*at)
		lo := at.hi
		if at.node != nil && at.lo == at.hi {
			lo++ // advance puts the only item into the arena
		}
		w.advance(*at, t.label[i])
		next := w.here(lo)
		if next.lo == next.hi {
			i = t.after[i]
			continue
		}
		allow(bits, t.tokens[t.first[i]:t.first[i+1]])
		if escapes != nil && w.accepts && t.after[i] > i+1 {
			*escapes = append(*escapes, i)
		}
		w.levels[d] = w.settle(next)
		i++
	}
}

// follow makes a level that of the only item after another's. The node is written only
// when it is another one: writes of pointers cost more than the rest.
func (l *level) follow(at *level, s int32) {
	l.lo, l.hi, l.calls, l.used, l.state = at.hi, at.hi, at.calls, at.used, s
	if l.node != at.node {
		l.node = at.node
	}
}

// begins says whether a byte begins a call that waits for it.
func (w *walker) begins(s int32, b byte) bool {
	for _, c := range w.g.states[s].lazy {
		if w.g.next(w.g.rules[c.rule].start, b) >= 0 {
			return true
		}
	}
	return false
}

func allow(bits []uint64, tokens []int32) {
	for _, t := range tokens {
		bits[t>>6] |= 1 << (t & 63)
	}
}

// settle notes whether a set has only one item that can read.
func (w *walker) settle(l level) level {
	reads := 0
	for _, it := range w.items[l.lo:l.hi] {
		if w.g.states[it.state].reads() {
			if reads++; reads > 1 {
				return level{lo: l.lo, hi: l.hi, calls: l.calls, used: l.used}
			}
			l.state, l.node = it.state, it.node
		}
	}
	return l
}
