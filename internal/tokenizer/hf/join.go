package hf

import "sync"

// symbol is one part of a piece, in a list.
type symbol struct {
	id         int32 // noID where no token stands for it
	start, end int32 // in the piece, in bytes
	prev, next int32 // −1 at the ends
	gone       bool
}

// noID marks a symbol that no token stands for.
const noID = -1

// candidate is a pair that may be joined.
type candidate struct {
	at  int32 // of its first symbol
	end int32 // of its second one, in bytes
	merged
}

type merged struct {
	rank int32
	id   int32
}

func (c *candidate) before(other *candidate) bool {
	if c.rank != other.rank {
		return c.rank < other.rank
	}
	return c.at < other.at
}

// scratch is what encoding a text needs for a while.
type scratch struct {
	symbols       []symbol
	queue         queue
	pieces, finer []string
	tokens        []int32 // for counting
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// keep is how many pieces or symbols a scratch may hold that is kept: one long
// text should not hold its memory for ever.
const keep = 1 << 14

// release gives a scratch back.
func (s *scratch) release() {
	if cap(s.symbols) > keep || cap(s.pieces) > keep || cap(s.finer) > keep || cap(s.tokens) > keep {
		return
	}
	clear(s.pieces[:cap(s.pieces)]) // which would hold the text
	clear(s.finer[:cap(s.finer)])
	scratches.Put(s)
}

// add appends a symbol to the list.
func (s *scratch) add(id int32, start, end int) {
	last := int32(len(s.symbols))
	s.symbols = append(s.symbols, symbol{id: id, start: int32(start), end: int32(end), prev: last - 1, next: -1})
	if last > 0 {
		s.symbols[last-1].next = last
	}
}

// join joins neighbours until no pair is left that may be, the one of lowest rank
// first. A queue of the pairs makes it n·log n: SentencePiece knows no pieces, so
// that n is the length of the text. The first symbol stays the first of the list.
func (s *scratch) join(pair func(left, right *symbol) (merged, bool)) {
	s.queue = s.queue[:0]
	symbols := s.symbols
	offer := func(at int32) {
		if at < 0 || symbols[at].next < 0 {
			return
		}
		right := &symbols[symbols[at].next]
		if m, ok := pair(&symbols[at], right); ok {
			s.queue.push(candidate{at, right.end, m})
		}
	}
	for i := range symbols {
		offer(int32(i))
	}
	for len(s.queue) > 0 {
		c := s.queue.pop()
		left := &symbols[c.at]
		if left.gone || left.next < 0 || symbols[left.next].end != c.end {
			continue // one of the two has been joined with another
		}
		right := &symbols[left.next]
		right.gone = true
		left.id, left.end, left.next = c.id, right.end, right.next
		if left.next >= 0 {
			symbols[left.next].prev = c.at
		}
		offer(left.prev)
		offer(c.at)
	}
}

// queue is a binary heap of candidates, the one of lowest rank on top and of equal
// ones the leftmost. container/heap would allocate for each.
type queue []candidate

func (q *queue) push(c candidate) {
	*q = append(*q, c)
	h := *q
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			return
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (q *queue) pop() candidate {
	h := *q
	top, last := h[0], len(h)-1
	h[0] = h[last]
	h = h[:last]
	*q = h
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&h[i]) {
			return top
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}
