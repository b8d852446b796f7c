package jinja

import "fmt"

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
