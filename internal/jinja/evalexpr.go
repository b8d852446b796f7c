package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

func (x literal) eval(*interp, *scope) Value { return x.value }

func (x variable) eval(in *interp, sc *scope) Value {
	if v, ok := sc.get(x.name); ok {
		return v
	}
	if v, ok := in.globals[x.name]; ok {
		return v
	}
	return undefined{fmt.Sprintf("'%s' is undefined", x.name)}
}

func (x listExpr) eval(in *interp, sc *scope) Value {
	out := make([]Value, len(x.items))
	for i, item := range x.items {
		out[i] = in.eval(item, sc)
	}
	in.make(16 * len(out))
	return &List{Items: out, tuple: x.tuple}
}

func (x dictExpr) eval(in *interp, sc *scope) Value {
	d := NewDict()
	for i, key := range x.keys {
		k := in.eval(key, sc)
		if !d.set(k, in.eval(x.values[i], sc)) {
			in.fail("unhashable type: '%s'", typeName(k))
		}
	}
	in.make(64 * len(x.keys))
	return d
}

// known returns v, and fails when it is undefined.
func (in *interp) known(v Value) Value {
	if u, ok := v.(undefined); ok {
		in.fail("%s", u.problem)
	}
	return v
}

func (x attrExpr) eval(in *interp, sc *scope) Value {
	of := in.eval(x.of, sc)
	in.line = x.line
	return in.attr(of, x.name)
}

// attr is of.name: an attribute or method, then an element.
func (in *interp) attr(of Value, name string) Value {
	if v, ok := in.attribute(of, name); ok {
		return v
	}
	if d, ok := of.(*Dict); ok {
		if v, ok := d.values[name]; ok {
			return v
		}
	}
	return undefined{fmt.Sprintf("'%s' has no attribute '%s'", objectName(of), name)}
}

func (in *interp) attribute(of Value, name string) (Value, bool) {
	switch of := in.known(of).(type) {
	case *namespace:
		v, ok := of.values[name]
		return v, ok
	case *loop:
		return of.attr(name)
	case *macro:
		if name == "name" {
			return Trusted(of.name), true
		}
	case Text, *Dict, *List:
		return method(of, name)
	case *cycler:
		return of.attr(name)
	}
	return nil, false
}

func (x itemExpr) eval(in *interp, sc *scope) Value {
	of := in.eval(x.of, sc)
	index := in.eval(x.index, sc)
	in.line = x.line
	return in.item(of, index)
}

// item is of[index]: an element, then an attribute or method.
func (in *interp) item(of, index Value) Value {
	in.known(of)
	if d, ok := of.(*Dict); ok {
		if v, ok := d.get(index); ok {
			return v
		}
	}
	if key, ok := index.(Text); ok {
		if v, ok := in.attribute(of, key.s); ok {
			return v
		}
		return undefined{fmt.Sprintf("'%s' has no attribute '%s'", objectName(of), key.s)}
	}
	if i, _, isInt, ok := number(index); ok && isInt {
		switch of := of.(type) {
		case *List:
			if n := int64(len(of.Items)); !of.generator && i >= -n && i < n {
				return of.Items[(i+n)%n]
			}
		case Text:
			in.scan(of)
			if r, ok := runeAt(of, i); ok {
				return r
			}
		}
	}
	return undefined{fmt.Sprintf("%s has no element %s", objectName(of), in.repr(index).s)}
}

func runeAt(t Text, i int64) (Text, bool) {
	n := int64(utf8.RuneCountInString(t.s))
	if i < 0 {
		i += n
	}
	if i < 0 || i >= n {
		return Text{}, false
	}
	if at := t.offsets(); at != nil {
		return t.slice(at[i], at[i+1]), true
	}
	return t.slice(int(i), int(i)+1), true
}

func (x logicExpr) eval(in *interp, sc *scope) Value {
	v := in.eval(x.x, sc)
	if truth(v) == x.and {
		return in.eval(x.y, sc)
	}
	return v
}

func (x condExpr) eval(in *interp, sc *scope) Value {
	if truth(in.eval(x.test, sc)) {
		return in.eval(x.then, sc)
	}
	if x.other == nil {
		return undefined{"the inline if-expression evaluated to false and no else section was defined"}
	}
	return in.eval(x.other, sc)
}

func (x concatExpr) eval(in *interp, sc *scope) Value {
	texts := make([]Text, len(x.items))
	for i, item := range x.items {
		texts[i] = in.str(in.eval(item, sc))
	}
	return in.join(texts...)
}

func (x compareExpr) eval(in *interp, sc *scope) Value {
	left := in.eval(x.first, sc)
	for i, op := range x.ops {
		right := in.eval(x.rest[i], sc)
		in.line = x.line
		if !in.compare(op, left, right) {
			return false
		}
		left = right
	}
	return true
}

func (in *interp) compare(op string, a, b Value) bool {
	switch op {
	case "==":
		return in.equal(a, b)
	case "!=":
		return !in.equal(a, b)
	case "in":
		return in.contains(b, a)
	case "not in":
		return !in.contains(b, a)
	}
	c := in.order(in.known(a), in.known(b), op)
	switch op {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	default:
		return c >= 0
	}
}

func (in *interp) contains(of, v Value) bool {
	switch of := of.(type) {
	case Text:
		t, ok := v.(Text)
		if !ok {
			in.fail("'in <string>' requires string as left operand, not %s", typeName(v))
		}
		in.scan(of)
		return strings.Contains(of.s, t.s)
	case *Dict:
		_, ok := of.get(v)
		return ok
	case *List, undefined:
		for _, item := range in.items(of) {
			if in.equal(item, v) {
				return true
			}
		}
		return false
	}
	in.fail("argument of type '%s' is not iterable", typeName(of))
	return false
}
