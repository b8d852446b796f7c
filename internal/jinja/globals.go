package jinja

import (
	"maps"
	"slices"
)

// globals are the functions that every template sees.
var globals = map[string]Value{
	"range":     function{"range", rangeFunc},
	"namespace": function{"namespace", newNamespace},
	"dict": function{"dict", func(in *interp, a args) Value {
		d := NewDict()
		if v, ok := a.get(0, ""); ok {
			from, ok := v.(*Dict)
			if !ok {
				in.fail("dict of %s, expected a mapping", typeName(v))
			}
			for _, k := range from.keys {
				d.set(k, from.at(k))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(a.named)) {
			d.Set(Trusted(name), a.named[name])
		}
		in.make(64 * len(d.keys))
		return d
	}},
	"joiner": function{"joiner", func(_ *interp, a args) Value {
		separator, ok := a.get(0, "sep")
		if !ok {
			separator = Trusted(", ")
		}
		used := false
		return function{"joiner", func(*interp, args) Value {
			if used {
				return separator
			}
			used = true
			return Text{}
		}}
	}},
	"cycler": function{"cycler", func(in *interp, a args) Value {
		if len(a.list) == 0 {
			in.fail("at least one item has to be provided")
		}
		return &cycler{items: a.list}
	}},
	"raise_exception": function{"raise_exception", func(in *interp, a args) Value {
		message, _ := a.get(0, "message")
		panic(failure{&Raised{in.str(message).s}})
	}},
	"strftime_now": function{"strftime_now", func(in *interp, a args) Value {
		return Trusted(strftime(in.now, in.text(a, 0, "format").s))
	}},
}

func newNamespace(in *interp, a args) Value {
	ns := &namespace{map[string]Value{}}
	if v, ok := a.get(0, ""); ok {
		if from, ok := v.(*Dict); ok {
			for _, k := range from.keys {
				ns.values[in.str(k).s] = from.at(k)
			}
		}
	}
	maps.Copy(ns.values, a.named)
	in.make(64 * len(ns.values))
	return ns
}

func rangeFunc(in *interp, a args) Value {
	from, to, step := int64(0), in.count(a, 0, "", 0), int64(1)
	if len(a.list) > 1 {
		from, to = to, in.count(a, 1, "", 0)
	}
	if len(a.list) > 2 {
		step = in.count(a, 2, "", 1)
	}
	if step == 0 {
		in.fail("range() arg 3 must not be zero")
	}
	const most = 100_000 // as in jinja2's sandbox
	var out []Value
	for i := from; step > 0 && i < to || step < 0 && i > to; i += step {
		if len(out) == most {
			in.fail("range too big, the maximum is %d items", most)
		}
		out = append(out, i)
		if step > 0 && i > to-step || step < 0 && i < to-step {
			break
		}
	}
	in.make(16 * len(out))
	in.step(len(out))
	return &List{Items: out}
}

// cycler gives its items in turn, whenever next is called.
type cycler struct {
	items []Value
	at    int
}

func (c *cycler) attr(name string) (Value, bool) {
	switch name {
	case "current":
		return c.items[c.at], true
	case "next":
		return function{"next", func(*interp, args) Value {
			v := c.items[c.at]
			c.at = (c.at + 1) % len(c.items)
			return v
		}}, true
	case "reset":
		return function{"reset", func(*interp, args) Value { c.at = 0; return nil }}, true
	}
	return nil, false
}
