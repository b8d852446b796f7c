package jinja

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// method returns a method of a string, mapping or list. Those that change their
// object are left out, as the sandbox forbids them.
func method(of Value, name string) (Value, bool) {
	var f func(in *interp, a args) Value
	switch of := of.(type) {
	case Text:
		m, ok := textMethods[name]
		if !ok {
			return nil, false
		}
		f = func(in *interp, a args) Value {
			in.scan(of)
			return m(in, of, a)
		}
	case *Dict:
		m, ok := dictMethods[name]
		if !ok {
			return nil, false
		}
		f = func(in *interp, a args) Value { return m(in, of, a) }
	case *List:
		m, ok := listMethods[name]
		if !ok || of.generator {
			return nil, false
		}
		f = func(in *interp, a args) Value { return m(in, of, a) }
	}
	return function{name, f}, true
}

var dictMethods = map[string]func(in *interp, d *Dict, a args) Value{
	"items": func(in *interp, d *Dict, _ args) Value { return in.pairs(d) },
	"keys":  func(in *interp, d *Dict, _ args) Value { return &List{Items: in.items(d)} },
	"values": func(in *interp, d *Dict, _ args) Value {
		in.make(16 * len(d.keys))
		out := make([]Value, len(d.keys))
		for i, k := range d.keys {
			out[i] = d.at(k)
		}
		return &List{Items: out}
	},
	"get": func(in *interp, d *Dict, a args) Value {
		key, _ := a.get(0, "key")
		if v, ok := d.get(key); ok {
			return v
		}
		v, _ := a.get(1, "default")
		return v
	},
}

func (in *interp) pairs(d *Dict) *List {
	in.make(64 * len(d.keys))
	out := make([]Value, len(d.keys))
	for i, k := range d.keys {
		out[i] = &List{Items: []Value{k, d.at(k)}, tuple: true}
	}
	return &List{Items: out}
}

var listMethods = map[string]func(in *interp, l *List, a args) Value{
	"count": func(in *interp, l *List, a args) Value {
		v, _ := a.get(0, "value")
		n := int64(0)
		for _, item := range l.Items {
			if in.equal(item, v) {
				n++
			}
		}
		return n
	},
	"index": func(in *interp, l *List, a args) Value {
		v, _ := a.get(0, "value")
		for i, item := range l.Items {
			if in.equal(item, v) {
				return int64(i)
			}
		}
		in.fail("value is not in list")
		return nil
	},
}

// text is the argument at a place, which must be a string.
func (in *interp) text(a args, i int, name string) Text {
	v, ok := a.get(i, name)
	t, isText := v.(Text)
	if !ok || !isText {
		in.fail("argument %d must be str, not %s", i+1, typeName(v))
	}
	return t
}

// count is the argument at a place, a whole number, or other when it is not given.
func (in *interp) count(a args, i int, name string, other int64) int64 {
	v, ok := a.get(i, name)
	if !ok || v == nil {
		return other
	}
	n, _, isInt, ok := number(v)
	if !ok || !isInt {
		in.fail("argument %d must be int, not %s", i+1, typeName(v))
	}
	return n
}

type textMethod = func(in *interp, t Text, a args) Value

var textMethods = map[string]textMethod{
	"strip":        stripper(true, true),
	"lstrip":       stripper(true, false),
	"rstrip":       stripper(false, true),
	"upper":        func(in *interp, t Text, _ args) Value { return in.changed(t, strings.ToUpper) },
	"lower":        func(in *interp, t Text, _ args) Value { return in.changed(t, strings.ToLower) },
	"title":        func(in *interp, t Text, _ args) Value { return in.whole(t, title) },
	"capitalize":   func(in *interp, t Text, _ args) Value { return in.whole(t, capitalize) },
	"startswith":   affix(strings.HasPrefix),
	"endswith":     affix(strings.HasSuffix),
	"split":        splitter(Text.split, false),
	"rsplit":       splitter(Text.splitFromRight, true),
	"removeprefix": func(in *interp, t Text, a args) Value { return cutPrefix(t, in.text(a, 0, "")) },
	"removesuffix": func(in *interp, t Text, a args) Value { return cutSuffix(t, in.text(a, 0, "")) },
	"replace": func(in *interp, t Text, a args) Value {
		return in.replace(t, in.text(a, 0, "old"), in.text(a, 1, "new"), in.count(a, 2, "count", -1))
	},
	"find": func(in *interp, t Text, a args) Value {
		i := strings.Index(t.s, in.text(a, 0, "").s)
		return int64(utf8.RuneCountInString(t.s[:max(i, 0)])) + int64(min(i, 0))
	},
	"rfind": func(in *interp, t Text, a args) Value {
		i := strings.LastIndex(t.s, in.text(a, 0, "").s)
		return int64(utf8.RuneCountInString(t.s[:max(i, 0)])) + int64(min(i, 0))
	},
	"count": func(in *interp, t Text, a args) Value {
		return int64(strings.Count(t.s, in.text(a, 0, "").s))
	},
	"splitlines": func(in *interp, t Text, _ args) Value {
		in.make(64 * (strings.Count(t.s, "\n") + 1))
		lines := t.split("\n", -1)
		if last, ok := lines[len(lines)-1].(Text); ok && last.s == "" {
			lines = lines[:len(lines)-1]
		}
		return &List{Items: lines}
	},
	"join": func(in *interp, t Text, a args) Value {
		v, _ := a.get(0, "")
		return in.joined(in.items(v), t)
	},
	"format":  formatMethod,
	"isdigit": all(unicode.IsDigit),
	"isalpha": all(unicode.IsLetter),
	"isalnum": all(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }),
	"isspace": all(isSpace),
	"isupper": func(_ *interp, t Text, _ args) Value {
		return strings.ToUpper(t.s) == t.s && strings.ToLower(t.s) != t.s
	},
	"islower": func(_ *interp, t Text, _ args) Value {
		return strings.ToLower(t.s) == t.s && strings.ToUpper(t.s) != t.s
	},
}

func all(is func(rune) bool) textMethod {
	return func(_ *interp, t Text, _ args) Value {
		return t.s != "" && strings.IndexFunc(t.s, func(r rune) bool { return !is(r) }) < 0
	}
}

func (in *interp) changed(t Text, change func(string) string) Text {
	in.make(len(t.s))
	return t.each(change)
}

func (in *interp) whole(t Text, change func(string) string) Text {
	in.make(len(t.s))
	return t.as(change(t.s))
}

func stripper(left, right bool) textMethod {
	return func(in *interp, t Text, a args) Value {
		if v, ok := a.get(0, "chars"); !ok || v == nil {
			return t.trim(left, right, isSpace)
		}
		set := in.text(a, 0, "chars").s
		return t.trim(left, right, func(r rune) bool { return strings.ContainsRune(set, r) })
	}
}

// affix tries one text, or each of several.
func affix(has func(s, affix string) bool) textMethod {
	return func(in *interp, t Text, a args) Value {
		v, _ := a.get(0, "")
		list, ok := v.(*List)
		if !ok {
			return has(t.s, in.text(a, 0, "").s)
		}
		for _, item := range list.Items {
			if one, ok := item.(Text); ok && has(t.s, one.s) {
				return true
			}
		}
		return false
	}
}

func splitter(cut func(t Text, separator string, n int) []Value, right bool) textMethod {
	return func(in *interp, t Text, a args) Value {
		n := int(max(min(in.count(a, 1, "maxsplit", -1), 1<<30), -1))
		v, given := a.get(0, "sep")
		in.make(64 + len(t.s)*32)
		if !given || v == nil {
			if right && n >= 0 {
				in.fail("rsplit by white space with a maximum is not supported")
			}
			return &List{Items: t.fields(n)}
		}
		separator := in.text(a, 0, "sep").s
		if separator == "" {
			in.fail("empty separator")
		}
		return &List{Items: cut(t, separator, n)}
	}
}

func cutPrefix(t, prefix Text) Text {
	if strings.HasPrefix(t.s, prefix.s) {
		return t.slice(len(prefix.s), len(t.s))
	}
	return t
}

func cutSuffix(t, suffix Text) Text {
	if strings.HasSuffix(t.s, suffix.s) {
		return t.slice(0, len(t.s)-len(suffix.s))
	}
	return t
}

func (in *interp) replace(t, old, with Text, n int64) Text {
	places := int64(strings.Count(t.s, old.s))
	if n >= 0 {
		places = min(places, n)
	}
	if places > 0 && int64(len(with.s)) > maxBytes/places {
		in.make(maxBytes + 1)
	}
	in.make(len(t.s) + int(places)*(len(with.s)+16))
	return t.replace(old, with, int(max(min(n, 1<<30), -1)))
}

func (in *interp) joined(items []Value, separator Text) Text {
	texts := make([]Text, 0, 2*len(items))
	for i, item := range items {
		if i > 0 {
			texts = append(texts, separator)
		}
		texts = append(texts, in.str(item))
	}
	return in.join(texts...)
}

func title(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		first := !inWord
		inWord = unicode.IsLetter(r)
		switch {
		case !inWord:
			return r
		case first:
			return unicode.ToTitle(r)
		default:
			return unicode.ToLower(r)
		}
	}, s)
}

func capitalize(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if size == 0 {
		return s
	}
	return string(unicode.ToTitle(r)) + strings.ToLower(s[size:])
}

// formatMethod is str.format for {}, {0} and {name} without conversions.
func formatMethod(in *interp, t Text, a args) Value {
	var parts []Text
	next := 0
	for at := 0; at < len(t.s); {
		i := strings.IndexAny(t.s[at:], "{}")
		if i < 0 {
			parts = append(parts, t.slice(at, len(t.s)))
			break
		}
		i += at
		parts = append(parts, t.slice(at, i))
		if i+1 < len(t.s) && t.s[i+1] == t.s[i] {
			parts = append(parts, t.slice(i, i+1))
			at = i + 2
			continue
		}
		end := strings.IndexByte(t.s[i:], '}')
		if end < 1 {
			in.fail("single brace in format string")
		}
		name := t.s[i+1 : i+end]
		at = i + end + 1
		place := -1
		if strings.Trim(name, "0123456789") == "" && len(name) < 4 {
			place = next
			for j, c := range name {
				if j == 0 {
					place = 0
				}
				place = place*10 + int(c-'0')
			}
			next++
		}
		v, ok := a.get(place, name)
		if !ok {
			in.fail("format has no value for {%s}", name)
		}
		parts = append(parts, in.str(v))
	}
	return in.join(parts...)
}
