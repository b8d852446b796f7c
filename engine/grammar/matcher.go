package grammar

import "slices"

// A Matcher follows one text through a grammar, token by token. It is for one goroutine
// at a time; any number of matchers may share a grammar and a vocabulary.
type Matcher struct {
	g       *Grammar
	v       *Vocabulary
	kept    *masks
	w       *walker
	history []*position // of the beginning and after each token
	masked  *position   // whose mask is in mask
	mask    []uint64
}

// A position is all that the text so far decides. It does not change.
type position struct {
	items   []item
	accepts bool
}

// Matcher begins a text.
func (g *Grammar) Matcher(v *Vocabulary) *Matcher {
	m := &Matcher{g: g, v: v, kept: g.kept.of(v, len(g.states)), w: &walker{g: g, v: v}}
	w := m.w
	w.keep, w.limited = true, true
	w.add(0, 0, g.rules[0].start, &node{rule: -1})
	m.history = []*position{{items: slices.Clone(w.items), accepts: w.accepts}}
	return m
}

// Clone is a matcher at the same place, with the same past.
func (m *Matcher) Clone() *Matcher {
	return &Matcher{g: m.g, v: m.v, kept: m.kept, w: &walker{g: m.g, v: m.v}, history: slices.Clone(m.history)}
}

func (m *Matcher) now() *position { return m.history[len(m.history)-1] }

// Accept appends a token to the text, or says that it may not come and changes nothing.
// A token that ends the sequence may come where the text may end, and again after that.
func (m *Matcher) Accept(token int32) bool {
	at := m.now()
	if token < 0 || int(token) >= m.v.size {
		return false
	}
	if m.v.isEnd[token] {
		if !at.accepts {
			return false
		}
		m.history = append(m.history, &position{accepts: true})
		return true
	}
	text := m.v.bytesOf(token)
	if len(text) == 0 {
		return false
	}
	m.w.keep, m.w.limited = true, true
	set := m.w.read(at.items, text)
	items := m.w.items[set.lo:set.hi]
	if len(items) == 0 {
		return false
	}
	next := at
	// Within a string nothing changes from token to token, and its mask can stay.
	if m.w.accepts != at.accepts || !slices.Equal(items, at.items) {
		next = &position{items: slices.Clone(items), accepts: m.w.accepts}
	}
	m.history = append(m.history, next)
	return true
}

// Allows says whether Accept would take a token.
func (m *Matcher) Allows(token int32) bool {
	at := m.now()
	if token < 0 || int(token) >= m.v.size {
		return false
	}
	if m.v.isEnd[token] {
		return at.accepts
	}
	text := m.v.bytesOf(token)
	m.w.keep, m.w.limited = false, true
	set := m.w.read(at.items, text)
	return len(text) > 0 && set.lo < set.hi
}

// Rollback takes back the last n tokens that were accepted; n beyond all of them takes
// back all.
func (m *Matcher) Rollback(n int) {
	m.history = m.history[:max(1, len(m.history)-max(n, 0))]
}

// Len is the number of tokens that were accepted and not taken back.
func (m *Matcher) Len() int { return len(m.history) - 1 }

// Complete says whether the text is a whole one: it may end here, though it may go on.
func (m *Matcher) Complete() bool { return m.now().accepts }

// Done says whether the text is whole and nothing may follow but a token that ends the
// sequence.
func (m *Matcher) Done() bool {
	return !slices.ContainsFunc(m.now().items, func(it item) bool { return m.g.states[it.state].reads() })
}

// Mask sets bit t%64 of bits[t/64] for each token t that Allows, and clears all others.
// bits has at least (Size+63)/64 words. At least one token of a vocabulary that has all
// single bytes and a token that ends the sequence is always allowed.
func (m *Matcher) Mask(bits []uint64) {
	at := m.now()
	words := (m.v.size + 63) / 64
	if m.masked != at {
		if m.mask == nil {
			m.mask = make([]uint64, words)
		}
		clear(m.mask)
		m.find(at)
		m.masked = at
	}
	clear(bits[copy(bits, m.mask):])
}

// find computes the mask of a position.
func (m *Matcher) find(at *position) {
	if at.accepts {
		for _, e := range m.v.end {
			m.mask[e>>6] |= 1 << (e & 63)
		}
	}
	for _, it := range at.items {
		if it.node.depth+m.v.brackets+1+m.g.height > m.g.limit {
			m.findNearLimit(at)
			return
		}
	}
	for _, it := range at.items {
		if !m.g.states[it.state].reads() {
			continue
		}
		local := m.kept.state(m.w, it.state)
		local.or(m.mask)
		if local.rest != nil {
			for _, e := range it.node.edges {
				m.goOn(local.rest, e)
			}
		}
	}
}

// goOn finds the tokens that end a rule on their way and go on in the one that called
// it.
func (m *Matcher) goOn(rest *trie, e edge) {
	w := m.w
	w.reset()
	w.keep, w.limited = false, false
	w.add(0, 0, e.to, e.node)
	w.scan(rest, w.here(0), m.mask, nil)
}

// findNearLimit computes the mask where a token could nest deeper than it may, so that
// what is kept for states does not hold.
func (m *Matcher) findNearLimit(at *position) {
	w := m.w
	w.reset()
	w.keep, w.limited = false, true
	w.items = append(w.items, at.items...)
	w.scan(m.v.trie, w.here(0), m.mask, nil)
}
