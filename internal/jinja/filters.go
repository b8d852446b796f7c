package jinja

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

type filterFunc func(in *interp, v Value, a args) Value

// filters are jinja2's that templates of models use, with its names and parameters.
var filters = map[string]filterFunc{
	"tojson": toJSON,
	"trim": func(in *interp, v Value, a args) Value {
		return stripper(true, true)(in, in.str(v), a)
	},
	"length": length, "count": length,
	"string":     func(in *interp, v Value, _ args) Value { return in.str(v) },
	"safe":       func(in *interp, v Value, _ args) Value { return in.str(v) },
	"upper":      func(in *interp, v Value, _ args) Value { return in.changed(in.str(v), strings.ToUpper) },
	"lower":      func(in *interp, v Value, _ args) Value { return in.changed(in.str(v), strings.ToLower) },
	"title":      func(in *interp, v Value, _ args) Value { return in.whole(in.str(v), title) },
	"capitalize": func(in *interp, v Value, _ args) Value { return in.whole(in.str(v), capitalize) },
	"escape":     escapeHTML, "e": escapeHTML,
	"replace": func(in *interp, v Value, a args) Value {
		return in.replace(in.str(v), in.text(a, 0, "old"), in.text(a, 1, "new"), in.count(a, 2, "count", -1))
	},
	"indent":    indent,
	"wordcount": func(in *interp, v Value, _ args) Value { return int64(len(strings.Fields(in.str(v).s))) },
	"format": func(in *interp, v Value, a args) Value {
		return in.percent(in.str(v), &List{Items: a.list})
	},
	"default": orElse, "d": orElse,
	"int": toInt, "float": toFloat,
	"abs": func(in *interp, v Value, _ args) Value {
		i, f, isInt, ok := number(v)
		if !ok {
			in.fail("bad operand type for abs(): '%s'", typeName(v))
		}
		if isInt {
			return max(i, -i)
		}
		return math.Abs(f)
	},
	"round": round,
	"first": func(in *interp, v Value, _ args) Value {
		if items := in.items(v); len(items) > 0 {
			return items[0]
		}
		return undefined{"no first item, sequence was empty"}
	},
	"last": func(in *interp, v Value, _ args) Value {
		if l, ok := v.(*List); ok && l.generator {
			in.fail("'generator' object is not reversible")
		}
		if items := in.items(v); len(items) > 0 {
			return items[len(items)-1]
		}
		return undefined{"no last item, sequence was empty"}
	},
	"list": func(in *interp, v Value, _ args) Value { return &List{Items: in.items(v)} },
	"reverse": func(in *interp, v Value, _ args) Value {
		items := slices.Clone(in.items(v))
		in.make(16 * len(items))
		slices.Reverse(items)
		if _, ok := v.(Text); ok {
			return in.joined(items, Text{})
		}
		return &List{Items: items, generator: true}
	},
	"join": func(in *interp, v Value, a args) Value {
		items := in.items(v)
		if attribute, ok := a.get(1, "attribute"); ok && attribute != nil {
			items = in.each(items, func(item Value) Value { return in.path(item, attribute) })
		}
		var separator Text
		if d, ok := a.get(0, "d"); ok {
			separator = in.str(d)
		}
		return in.joined(items, separator)
	},
	"items": func(in *interp, v Value, _ args) Value {
		switch v := v.(type) {
		case undefined:
			return &List{generator: true}
		case *Dict:
			pairs := in.pairs(v)
			pairs.generator = true
			return pairs
		}
		in.fail("can only get item pairs from a mapping")
		return nil
	},
	"dictsort":   dictSort,
	"map":        mapFilter,
	"select":     chooser(true, false),
	"reject":     chooser(false, false),
	"selectattr": chooser(true, true),
	"rejectattr": chooser(false, true),
	"sort":       sortFilter,
	"unique":     unique,
	"min":        extreme(-1), "max": extreme(1),
	"sum": func(in *interp, v Value, a args) Value {
		var total Value = int64(0)
		if start, ok := a.get(1, "start"); ok {
			total = start
		}
		attribute, byAttribute := a.get(0, "attribute")
		for _, item := range in.items(v) {
			if byAttribute && attribute != nil {
				item = in.path(item, attribute)
			}
			total = binaryExpr{op: "+", x: literal{total}, y: literal{item}, line: in.line}.eval(in, nil)
		}
		return total
	},
}

func length(in *interp, v Value, _ args) Value {
	switch v := v.(type) {
	case Text:
		in.scan(v)
		return int64(utf8.RuneCountInString(v.s))
	case *List:
		if !v.generator {
			return int64(len(v.Items))
		}
	case *Dict:
		return int64(len(v.keys))
	case undefined:
		return int64(0)
	}
	in.fail("object of type '%s' has no len()", typeName(v))
	return nil
}

func escapeHTML(in *interp, v Value, _ args) Value {
	t := in.str(v)
	for _, pair := range [][2]string{{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"'", "&#39;"}, {`"`, "&#34;"}} {
		t = in.replace(t, Trusted(pair[0]), Trusted(pair[1]), -1)
	}
	return t
}

// maxIndentWidth is the most that lines are indented by.
const maxIndentWidth = 1000

func indent(in *interp, v Value, a args) Value {
	t := in.str(v)
	by := Trusted("    ")
	if width, ok := a.get(0, "width"); ok {
		if s, ok := width.(Text); ok {
			by = s
		} else {
			n := max(in.count(a, 0, "width", 4), 0)
			if n > maxIndentWidth {
				in.fail("indent by %d, expected at most %d", n, maxIndentWidth)
			}
			by = Trusted(strings.Repeat(" ", int(n)))
		}
	}
	first, _ := a.get(1, "first")
	blank, _ := a.get(2, "blank")
	in.make(32 * (strings.Count(t.s, "\n") + 1))
	var parts []Text
	for i, line := range t.split("\n", -1) {
		line := line.(Text)
		if i > 0 {
			parts = append(parts, Trusted("\n"))
		}
		if i == 0 && truth(first) || i > 0 && (line.s != "" || truth(blank)) {
			parts = append(parts, by)
		}
		parts = append(parts, line)
	}
	return in.join(parts...)
}

func orElse(_ *interp, v Value, a args) Value {
	falsy, _ := a.get(1, "boolean")
	if _, missing := v.(undefined); missing || truth(falsy) && !truth(v) {
		if other, ok := a.get(0, "default_value"); ok {
			return other
		}
		return Text{}
	}
	return v
}

func toInt(in *interp, v Value, a args) Value {
	if i, f, isInt, ok := number(v); ok {
		if isInt {
			return i
		}
		if math.Abs(f) < 1<<63 {
			return int64(f)
		}
	}
	if t, ok := v.(Text); ok {
		s := strings.TrimFunc(t.s, isSpace)
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return i
		}
		if f, err := strconv.ParseFloat(s, 64); err == nil && math.Abs(f) < 1<<63 {
			return int64(f)
		}
	}
	return in.count(a, 0, "default", 0)
}

func toFloat(_ *interp, v Value, a args) Value {
	if _, f, _, ok := number(v); ok {
		return f
	}
	if t, ok := v.(Text); ok {
		if f, err := strconv.ParseFloat(strings.TrimFunc(t.s, isSpace), 64); err == nil {
			return f
		}
	}
	if other, ok := a.get(0, "default"); ok {
		return other
	}
	return 0.0
}

func round(in *interp, v Value, a args) Value {
	_, f, _, ok := number(v)
	if !ok {
		in.fail("type %s doesn't define __round__ method", typeName(v))
	}
	scale := math.Pow(10, float64(min(max(in.count(a, 0, "precision", 0), -300), 300)))
	how, _ := a.get(1, "method")
	if t, ok := how.(Text); ok && t.s == "ceil" {
		return math.Ceil(f*scale) / scale
	} else if ok && t.s == "floor" {
		return math.Floor(f*scale) / scale
	}
	return math.RoundToEven(f*scale) / scale
}
