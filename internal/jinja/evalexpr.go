package jinja

import (
	"fmt"
	"maps"
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

func (x sliceExpr) eval(in *interp, sc *scope) Value {
	of := in.eval(x.of, sc)
	bound := func(e expr) (int64, bool) {
		if e == nil {
			return 0, false
		}
		v := in.eval(e, sc)
		i, _, isInt, ok := number(v)
		if v != nil && (!ok || !isInt) {
			in.fail("slice indices must be integers or None, not %s", typeName(v))
		}
		return i, v != nil
	}
	from, hasFrom := bound(x.from)
	to, hasTo := bound(x.to)
	step, hasStep := bound(x.step)
	in.line = x.line
	if !hasStep {
		step = 1
	}
	if step == 0 {
		in.fail("slice step cannot be zero")
	}
	switch of := in.known(of).(type) {
	case *List:
		if of.generator {
			break
		}
		var out []Value
		for _, i := range picks(int64(len(of.Items)), from, to, step, hasFrom, hasTo) {
			out = append(out, of.Items[i])
		}
		in.make(16 * len(out))
		return &List{Items: out}
	case Text:
		return in.sliceText(of, from, to, step, hasFrom, hasTo)
	}
	return undefined{fmt.Sprintf("%s has no element slice", objectName(of))}
}

func (in *interp) sliceText(t Text, from, to, step int64, hasFrom, hasTo bool) Text {
	in.make(len(t.s))
	at := t.offsets()
	n := int64(len(t.s))
	if at != nil {
		n = int64(len(at) - 1)
	}
	offset := func(i int64) int {
		if at == nil {
			return int(i)
		}
		return at[i]
	}
	if step == 1 {
		lo, hi := clamp(n, from, to, 1, hasFrom, hasTo)
		if lo >= hi {
			return Text{}
		}
		return t.slice(offset(lo), offset(hi))
	}
	var b builder
	for _, i := range picks(n, from, to, step, hasFrom, hasTo) {
		b.add(t.slice(offset(i), offset(i+1)))
	}
	return b.text()
}

// clamp is Python's slice.indices for n elements.
func clamp(n, from, to, step int64, hasFrom, hasTo bool) (lo, hi int64) {
	low, high := int64(0), n
	if step < 0 {
		low, high = -1, n-1
	}
	one := func(i int64) int64 {
		if i < 0 {
			return max(i+n, low)
		}
		return min(i, high)
	}
	lo, hi = low, high
	if step < 0 {
		lo, hi = high, low
	}
	if hasFrom {
		lo = one(from)
	}
	if hasTo {
		hi = one(to)
	}
	return lo, hi
}

func picks(n, from, to, step int64, hasFrom, hasTo bool) (out []int64) {
	lo, hi := clamp(n, from, to, step, hasFrom, hasTo)
	step = max(min(step, n+1), -n-1)
	for i := lo; step > 0 && i < hi || step < 0 && i > hi; i += step {
		out = append(out, i)
	}
	return out
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
		in.step(len(of.s) / 64)
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

func (x callExpr) eval(in *interp, sc *scope) Value { return x.with(in, sc, nil) }

// with calls, with the macro that a call block passes as caller.
func (x callExpr) with(in *interp, sc *scope, caller *macro) Value {
	of := in.eval(x.of, sc)
	a := x.args.eval(in, sc)
	if caller != nil {
		a.named = maps.Clone(a.named)
		if a.named == nil {
			a.named = map[string]Value{}
		}
		a.named["caller"] = caller
	}
	in.line = x.line
	return in.call(of, a)
}

func (in *interp) call(of Value, a args) Value {
	in.deeper()
	defer in.shallower()
	switch of := in.known(of).(type) {
	case function:
		return of.call(in, a)
	case *macro:
		return of.call(in, a)
	case *loop:
		if of.recurse != nil && len(a.list) == 1 {
			return of.recurse(in, a.list[0])
		}
	}
	in.fail("'%s' object is not callable", typeName(of))
	return nil
}

// args are the values that a call, filter or test is given.
type args struct {
	list  []Value
	named map[string]Value
}

func (a arguments) eval(in *interp, sc *scope) (out args) {
	for _, x := range a.list {
		out.list = append(out.list, in.eval(x, sc))
	}
	for i, name := range a.names {
		if out.named == nil {
			out.named = map[string]Value{}
		}
		out.named[name] = in.eval(a.named[i], sc)
	}
	return out
}

// get returns the argument at a place or of a name.
func (a args) get(i int, name string) (Value, bool) {
	if v, ok := a.named[name]; ok {
		return v, true
	}
	if i >= 0 && i < len(a.list) {
		return a.list[i], true
	}
	return nil, false
}

func (x filterExpr) eval(in *interp, sc *scope) Value {
	return x.apply(in, sc, in.eval(x.x, sc))
}

func (x filterExpr) apply(in *interp, sc *scope, v Value) Value {
	a := x.args.eval(in, sc)
	in.line = x.line
	f, ok := in.filters[x.name]
	if !ok {
		in.fail("no filter named '%s'", x.name)
	}
	return f(in, v, a)
}

func (x testExpr) eval(in *interp, sc *scope) Value {
	v := in.eval(x.x, sc)
	a := x.args.eval(in, sc)
	in.line = x.line
	test, ok := in.tests[x.name]
	if !ok {
		in.fail("no test named '%s'", x.name)
	}
	return test(in, v, a) != x.not
}
