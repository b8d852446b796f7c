package jinja

import (
	"slices"
	"strconv"
	"strings"
)

func (in *interp) each(items []Value, change func(Value) Value) []Value {
	in.make(16 * len(items))
	out := make([]Value, len(items))
	for i, item := range items {
		out[i] = change(item)
	}
	return out
}

// path follows an attribute such as "function.name" or 0.
func (in *interp) path(v, attribute Value) Value {
	t, ok := attribute.(Text)
	if !ok {
		return in.item(v, attribute)
	}
	for _, part := range t.split(".", -1) {
		part := part.(Text)
		if i, err := strconv.ParseInt(part.s, 10, 64); err == nil {
			v = in.item(v, i)
		} else {
			v = in.item(v, part)
		}
	}
	return v
}

// walk is items, and nothing of what is false: map, select and their like take none.
func (in *interp) walk(v Value) []Value {
	if !truth(v) {
		return nil
	}
	return in.items(v)
}

func mapFilter(in *interp, v Value, a args) Value {
	items := in.walk(v)
	if attribute, ok := a.named["attribute"]; ok {
		other, hasOther := a.named["default"]
		return &List{generator: true, Items: in.each(items, func(item Value) Value {
			v := in.path(item, attribute)
			if _, missing := v.(undefined); missing && hasOther {
				return other
			}
			return v
		})}
	}
	name := in.text(a, 0, "").s
	f, ok := in.filters[name]
	if !ok {
		in.fail("no filter named '%s'", name)
	}
	rest := args{a.list[1:], a.named}
	return &List{generator: true, Items: in.each(items, func(item Value) Value {
		in.deeper()
		defer in.shallower()
		return f(in, item, rest)
	})}
}

// chooser makes select and its like: those that pass a test, or whose attribute does.
func chooser(keep, byAttribute bool) filterFunc {
	return func(in *interp, v Value, a args) Value {
		value := func(item Value) Value { return item }
		if byAttribute {
			attribute, ok := a.get(0, "")
			if !ok {
				in.fail("missing parameter for attribute name")
			}
			value = func(item Value) Value { return in.path(item, attribute) }
			a.list = a.list[1:]
		}
		pass := func(v Value) bool { return truth(v) }
		if len(a.list) > 0 {
			name := in.text(a, 0, "").s
			test, ok := in.tests[name]
			if !ok {
				in.fail("no test named '%s'", name)
			}
			rest := args{a.list[1:], a.named}
			pass = func(v Value) bool { return test(in, v, rest) }
		}
		var out []Value
		for _, item := range in.walk(v) {
			in.deeper()
			if pass(value(item)) == keep {
				out = append(out, item)
			}
			in.shallower()
		}
		in.make(16 * len(out))
		return &List{Items: out, generator: true}
	}
}

// sortKey is what sort, unique, min and max compare by.
func (in *interp) sortKey(v Value, a args, attributeAt, caseAt int) Value {
	if attribute, ok := a.get(attributeAt, "attribute"); ok && attribute != nil {
		v = in.path(v, attribute)
	}
	if exact, _ := a.get(caseAt, "case_sensitive"); truth(exact) {
		return v
	}
	if t, ok := v.(Text); ok {
		return in.changed(t, strings.ToLower)
	}
	return v
}

func (in *interp) sorted(items []Value, key func(Value) Value, reverse bool) []Value {
	in.make(32 * len(items))
	keys := in.each(items, key)
	order := make([]int, len(items))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		in.step(1)
		c := in.order(keys[i], keys[j], "<")
		if reverse {
			return -c
		}
		return c
	})
	out := make([]Value, len(items))
	for i, at := range order {
		out[i] = items[at]
	}
	return out
}

func sortFilter(in *interp, v Value, a args) Value {
	reverse, _ := a.get(0, "reverse")
	key := func(v Value) Value { return in.sortKey(v, a, 2, 1) }
	return &List{Items: in.sorted(in.items(v), key, truth(reverse))}
}

func dictSort(in *interp, v Value, a args) Value {
	d, ok := v.(*Dict)
	if !ok {
		in.fail("dictsort of %s, expected a mapping", typeName(v))
	}
	at := int64(0)
	if by, ok := a.get(1, "by"); ok {
		if t, ok := by.(Text); ok && t.s == "value" {
			at = 1
		}
	}
	reverse, _ := a.get(2, "reverse")
	key := func(v Value) Value { return in.sortKey(in.item(v, at), a, -1, 0) }
	return &List{Items: in.sorted(in.pairs(d).Items, key, truth(reverse))}
}

func unique(in *interp, v Value, a args) Value {
	var out, seen []Value
	for _, item := range in.items(v) {
		key := in.sortKey(item, a, 1, 0)
		if !slices.ContainsFunc(seen, func(s Value) bool { return in.equal(s, key) }) {
			seen = append(seen, key)
			out = append(out, item)
		}
	}
	return &List{Items: out, generator: true}
}

func extreme(sign int) filterFunc {
	return func(in *interp, v Value, a args) Value {
		items := in.items(v)
		if len(items) == 0 {
			return undefined{"no aggregated item, sequence was empty"}
		}
		best := items[0]
		for _, item := range items[1:] {
			if in.order(in.sortKey(item, a, 1, 0), in.sortKey(best, a, 1, 0), "<")*sign > 0 {
				best = item
			}
		}
		return best
	}
}
