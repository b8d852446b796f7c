package jinja

import (
	"slices"
	"unicode/utf8"
)

// loop is the variable of that name inside a for.
type loop struct {
	items   []Value
	at      int
	depth   int64
	recurse func(in *interp, v Value) Value // of a recursive loop
	last    []Value                         // what changed() saw
}

// items returns what a for over v goes through.
func (in *interp) items(v Value) []Value {
	switch v := v.(type) {
	case *List:
		if !v.generator {
			return v.Items
		}
		if v.spent {
			return nil
		}
		v.spent = true
		return v.Items
	case *Dict:
		in.make(16 * len(v.keys))
		return slices.Clone(v.keys)
	case Text:
		in.make(64 * utf8.RuneCountInString(v.s))
		return v.runes()
	case undefined:
		return nil
	}
	in.fail("'%s' object is not iterable", typeName(v))
	return nil
}

func (s forStmt) exec(in *interp, sc *scope) signal {
	in.line = s.line
	s.run(in, sc, in.eval(s.in, sc), 1)
	return goOn
}

func (s forStmt) run(in *interp, sc *scope, over Value, depth int64) {
	in.line = s.line
	items := in.items(over)
	if s.test != nil {
		var kept []Value
		for _, item := range items {
			inner := &scope{parent: sc}
			in.assign(inner, s.targets, s.tuple, item)
			if truth(in.eval(s.test, inner)) {
				kept = append(kept, item)
			}
		}
		items = kept
	}
	l := &loop{items: items, depth: depth}
	if s.recursive {
		l.recurse = func(in *interp, v Value) Value {
			in.deeper()
			defer in.shallower()
			outer := in.out
			in.out = &builder{}
			s.run(in, sc, v, depth+1)
			text := in.out.text()
			in.out = outer
			return text
		}
	}
	for i, item := range items {
		in.step(1)
		l.at = i
		inner := &scope{parent: sc}
		inner.set("loop", l)
		in.assign(inner, s.targets, s.tuple, item)
		if in.block(s.body, inner) == breakLoop {
			break
		}
	}
	if len(items) == 0 {
		in.block(s.other, &scope{parent: sc})
	}
}

func (l *loop) attr(name string) (Value, bool) {
	n, at := int64(len(l.items)), int64(l.at)
	switch name {
	case "index":
		return at + 1, true
	case "index0":
		return at, true
	case "revindex":
		return n - at, true
	case "revindex0":
		return n - at - 1, true
	case "first":
		return at == 0, true
	case "last":
		return at == n-1, true
	case "length":
		return n, true
	case "depth":
		return l.depth, true
	case "depth0":
		return l.depth - 1, true
	case "previtem":
		if at == 0 {
			return undefined{"there is no previous item"}, true
		}
		return l.items[at-1], true
	case "nextitem":
		if at == n-1 {
			return undefined{"there is no next item"}, true
		}
		return l.items[at+1], true
	case "cycle":
		return function{"cycle", func(in *interp, a args) Value {
			if len(a.list) == 0 {
				in.fail("no items for cycling given")
			}
			return a.list[l.at%len(a.list)]
		}}, true
	case "changed":
		return function{"changed", func(in *interp, a args) Value {
			same := l.last != nil && in.equal(&List{Items: l.last}, &List{Items: a.list})
			l.last = append([]Value{}, a.list...)
			return !same
		}}, true
	}
	return nil, false
}
