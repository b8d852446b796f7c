package grammar

import (
	"fmt"
	"slices"
)

// A shape of text is a nondeterministic automaton over code points: what a pattern, a
// format or a pair of lengths asks of a string before it is encoded. It begins in
// state 0 and ends in state 1.
type shape struct{ edges [][]shapeEdge }

// A shapeEdge reads one code point of a class; of a nil class, nothing.
type shapeEdge struct {
	class class
	to    int32
}

func newShape() *shape { return &shape{edges: make([][]shapeEdge, 2)} }

func (s *shape) state() int32 {
	if len(s.edges) == maxStates {
		tooLarge("a string's pattern has more than %d states", maxStates)
	}
	s.edges = append(s.edges, nil)
	return int32(len(s.edges) - 1)
}

func (s *shape) add(from, to int32, c class) {
	s.edges[from] = append(s.edges[from], shapeEdge{class: c, to: to})
}

// lengths is the shape of strings of least … most code points; most < 0: no bound.
func lengths(least, most int) *shape {
	s := newShape()
	at := first
	for range least {
		next := s.state()
		s.add(at, next, anyRune)
		at = next
	}
	s.add(at, last, nil)
	if most < 0 {
		s.add(at, at, anyRune)
	}
	for range most - least {
		next := s.state()
		s.add(at, next, anyRune)
		s.add(next, last, nil)
		at = next
	}
	return s
}

// intersect is the shape of strings that both shapes take: the product automaton, as
// far as it can be reached.
func intersect(a, b *shape, m *meter) *shape {
	p := newShape()
	type pair struct{ a, b int32 }
	index := map[pair]int32{{first, first}: first, {last, last}: last}
	queue := []pair{{first, first}}
	at := func(q pair) int32 {
		s, ok := index[q]
		if !ok {
			s = p.state()
			index[q] = s
			queue = append(queue, q)
		}
		return s
	}
	edges := 0
	for len(queue) > 0 {
		q := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		from := index[q]
		pairs := (len(a.edges[q.a]) + 1) * (len(b.edges[q.b]) + 1)
		m.spend(4 * pairs)
		if edges += pairs; edges > maxEdges {
			tooLarge("a string has several patterns or lengths that combine in too many ways")
		}
		for _, x := range a.edges[q.a] {
			if x.class == nil {
				p.add(from, at(pair{x.to, q.b}), nil)
				continue
			}
			for _, y := range b.edges[q.b] {
				if c := overlap(x.class, y.class); y.class != nil && len(c) > 0 {
					p.add(from, at(pair{x.to, y.to}), c)
				}
			}
		}
		for _, y := range b.edges[q.b] {
			if y.class == nil {
				p.add(from, at(pair{q.a, y.to}), nil)
			}
		}
	}
	return p
}

// write adds a shape's automaton, with each code point read as one says.
func (d *draft) write(from, to int32, s *shape, one func(from, to int32, c class)) {
	at := make([]int32, len(s.edges))
	for i := range at {
		at[i] = d.state()
	}
	d.skip(from, at[first])
	d.skip(at[last], to)
	for i, edges := range s.edges {
		for _, e := range edges {
			if e.class == nil {
				d.skip(at[i], at[e.to])
			} else {
				one(at[i], at[e.to], e.class)
			}
		}
	}
}

// freeString writes any JSON string.
func freeString(d *draft) {
	d.common = true
	at := d.then(first, `"`)
	d.written(at, at, anyRune)
	d.text(at, last, `"`)
}

// A stringRule is what a schema asks of a string.
type stringRule struct {
	least, most int      // code points; most < 0: no bound
	patterns    []string // regular expressions to be found within it
	formats     []string // names of formats
	at          []string // where in the schema each pattern stands
}

// write writes the string with its quotes.
func (r stringRule) write(d *draft) {
	if r.most >= 0 && r.most < r.least {
		return // no string is that long and that short
	}
	s := newShape()
	s.add(first, first, anyRune)
	s.add(first, last, nil)
	free := true
	if r.least > 0 || r.most >= 0 {
		s, free = lengths(r.least, r.most), false
	}
	m := d.c.meter
	m.spend(4 * len(s.edges))
	and := func(other *shape) {
		m.spend(4 * len(other.edges))
		if free {
			s, free = other, false
			return
		}
		s = intersect(s, other, m)
	}
	for i, p := range r.patterns {
		other, err := parsePattern(p, true)
		if err != nil {
			fail("schema at %s: %w", r.at[i], err)
		}
		and(other)
	}
	for _, name := range r.formats {
		and(formats()[name])
	}
	one := d.written
	if max(r.least, r.most) > longString {
		one = d.called
	}
	at, end := d.then(first, `"`), d.state()
	d.write(at, end, s, one)
	d.text(end, last, `"`)
}

// longString is from which length on the characters of a string share their automaton.
const longString = 64

// called reads the same as written, with all but ASCII as a rule of its own: a state
// for each character of a long string, rather than thirty.
func (d *draft) called(from, to int32, c class) {
	if !slices.Equal(c, anyRune) {
		d.canonical(from, to, c)
		return
	}
	d.raw(from, to, without(ascii, needEscape...))
	d.call(from, to, d.c.rule("character", false, func(d *draft) {
		d.raw(first, last, beyond)
		d.escape(first, last)
	}))
}

func (r stringRule) key() string {
	return fmt.Sprintf("string %d %d %q %q", r.least, r.most, r.patterns, slices.Compact(r.formats))
}
