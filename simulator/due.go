package simulator

// dueQueue is a heap of requests by when they are due; those of one time go in the
// order of their sessions, as the load generator's do.
type dueQueue []*request

// before reports whether a goes before b.
func before(a, b *request) bool {
	return a.due < b.due || a.due == b.due && a.session.Index < b.session.Index
}

func (q *dueQueue) push(r *request) {
	h := append(*q, r)
	*q = h
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !before(h[i], h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

// pop takes the first one out of a queue that is not empty.
func (q *dueQueue) pop() *request {
	h := *q
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], nil
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return first
		}
		if child+1 < last && before(h[child+1], h[child]) {
			child++
		}
		if !before(h[child], h[i]) {
			return first
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
