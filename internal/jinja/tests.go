package jinja

import "strings"

type testFunc func(in *interp, v Value, a args) bool

// tests are what may stand after "is": jinja2's, without escaped.
var tests = map[string]testFunc{
	"defined":   func(_ *interp, v Value, _ args) bool { _, u := v.(undefined); return !u },
	"undefined": func(_ *interp, v Value, _ args) bool { _, u := v.(undefined); return u },
	"none":      func(_ *interp, v Value, _ args) bool { return v == nil },
	"boolean":   func(_ *interp, v Value, _ args) bool { _, ok := v.(bool); return ok },
	"true":      func(_ *interp, v Value, _ args) bool { return v == true },
	"false":     func(_ *interp, v Value, _ args) bool { return v == false },
	"integer": func(_ *interp, v Value, _ args) bool {
		switch v.(type) {
		case int64, BigInt:
			return true
		}
		return false
	},
	"float": func(_ *interp, v Value, _ args) bool { _, ok := v.(float64); return ok },
	"number": func(_ *interp, v Value, _ args) bool {
		_, big := v.(BigInt)
		_, _, _, ok := number(v)
		return ok || big
	},
	"string": func(_ *interp, v Value, _ args) bool { _, ok := v.(Text); return ok },
	"mapping": func(_ *interp, v Value, _ args) bool {
		_, ok := v.(*Dict)
		return ok
	},
	"iterable": func(_ *interp, v Value, _ args) bool {
		switch v.(type) {
		case Text, *List, *Dict, undefined:
			return true
		}
		return false
	},
	"sequence": func(_ *interp, v Value, _ args) bool {
		switch v := v.(type) {
		case *List:
			return !v.generator
		case Text, *Dict, undefined:
			return true
		}
		return false
	},
	"callable": func(_ *interp, v Value, _ args) bool {
		switch v.(type) {
		case function, *macro:
			return true
		}
		return false
	},
	"odd":         func(in *interp, v Value, _ args) bool { return in.remainder(v, 2) == 1 },
	"even":        func(in *interp, v Value, _ args) bool { return in.remainder(v, 2) == 0 },
	"divisibleby": func(in *interp, v Value, a args) bool { return in.remainder(v, in.count(a, 0, "num", 0)) == 0 },
	"lower":       func(in *interp, v Value, _ args) bool { s := in.str(v).s; return s == strings.ToLower(s) },
	"upper":       func(in *interp, v Value, _ args) bool { s := in.str(v).s; return s == strings.ToUpper(s) },
	"in":          func(in *interp, v Value, a args) bool { of, _ := a.get(0, "seq"); return in.contains(of, v) },
	"sameas": func(in *interp, v Value, a args) bool {
		other, _ := a.get(0, "other")
		return typeName(v) == typeName(other) && in.equal(v, other)
	},
	"filter": func(in *interp, v Value, _ args) bool {
		_, ok := in.filters[in.str(v).s]
		return ok
	},
	"test": func(in *interp, v Value, _ args) bool {
		_, ok := in.tests[in.str(v).s]
		return ok
	},
	"eq": comparing("=="), "equalto": comparing("=="), "ne": comparing("!="),
	"lt": comparing("<"), "lessthan": comparing("<"), "le": comparing("<="),
	"gt": comparing(">"), "greaterthan": comparing(">"), "ge": comparing(">="),
}

func comparing(op string) testFunc {
	return func(in *interp, v Value, a args) bool {
		other, ok := a.get(0, "other")
		if !ok {
			in.fail("test needs something to compare with")
		}
		return in.compare(op, v, other)
	}
}

func (in *interp) remainder(v Value, by int64) int64 {
	i, _, isInt, ok := number(v)
	if !ok || !isInt || by == 0 {
		in.fail("unsupported operand type(s) for %%: '%s' and %d", typeName(v), by)
	}
	return ((i % by) + by) % by
}
