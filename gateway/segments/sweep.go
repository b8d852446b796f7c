package segments

// tidy keeps the sketch within its bounds: it forgets what is old by halving all
// counts, and what is rare by dropping it.
func (s *Sketch) tidy() {
	if s.root.count >= memory {
		s.bytes /= 2
		s.repeated /= 2
		s.root.halve()
		s.drop(0)
	}
	if s.nodes <= maxNodes && s.hashes <= maxHashes {
		return
	}
	// A quarter is made free at once, so that the walk is not taken every time.
	for rare := int64(1); s.nodes > maxNodes*3/4 || s.hashes > maxHashes*3/4; rare *= 2 {
		s.drop(rare)
	}
}

func (n *node) halve() {
	n.count /= 2
	for i := range n.breaks {
		b := &n.breaks[i]
		b.count /= 2
		b.same /= 2
		b.after /= 2
	}
	for _, child := range n.next {
		child.halve()
	}
}

// drop forgets all beginnings that at most rare prompts have, and joins those that
// are hardly more common than the only one that is left behind them.
func (s *Sketch) drop(rare int64) {
	s.nodes, s.hashes = 0, 0
	s.root.drop(rare)
	for _, child := range s.root.next {
		child.measure(s)
	}
}

func (n *node) drop(rare int64) {
	for first, child := range n.next {
		if child.count <= rare {
			delete(n.next, first)
			continue
		}
		child.drop(rare)
		if only := child.only(); only != nil && only.count*10 >= child.count*9 && len(child.breaks) == 0 {
			only.label = append(child.label, only.label...)
			only.first = child.first
			n.next[first] = only
		}
	}
	if len(n.next) == 0 {
		n.next = nil // a map that was large stays so
	}
}

// only is the one child of a node that has one.
func (n *node) only() *node {
	if len(n.next) != 1 {
		return nil
	}
	for _, child := range n.next {
		return child
	}
	return nil
}

func (n *node) measure(s *Sketch) {
	s.nodes++
	s.hashes += len(n.label)
	for _, child := range n.next {
		child.measure(s)
	}
}
