package mock

import "time"

// dueHeap orders connections by when their next write is due. It is a binary
// heap that each connection knows its place in, so that moving one costs no
// search.
type dueHeap []*conn

// set puts a connection where its new time belongs.
func (h *dueHeap) set(c *conn, at time.Duration) {
	c.dueAt = at
	if c.place < 0 {
		c.place = len(*h)
		*h = append(*h, c)
	}
	h.down(h.up(c.place))
}

// remove takes a connection out, if it is in.
func (h *dueHeap) remove(c *conn) {
	i, last := c.place, len(*h)-1
	if i < 0 {
		return
	}
	(*h)[i] = (*h)[last]
	(*h)[i].place = i
	(*h)[last] = nil
	*h = (*h)[:last]
	c.place = -1
	if i < last {
		h.down(h.up(i))
	}
}

func (h dueHeap) up(i int) int {
	for i > 0 {
		parent := (i - 1) / 2
		if h[parent].dueAt <= h[i].dueAt {
			break
		}
		h.swap(i, parent)
		i = parent
	}
	return i
}

func (h dueHeap) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1].dueAt < h[child].dueAt {
			child++
		}
		if h[i].dueAt <= h[child].dueAt {
			return
		}
		h.swap(i, child)
		i = child
	}
}

func (h dueHeap) swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}
