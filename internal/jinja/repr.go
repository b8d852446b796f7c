package jinja

import (
	"math"
	"strconv"
	"strings"
)

// str is Python's str: what is printed.
func (in *interp) str(v Value) Text {
	switch v := v.(type) {
	case Text:
		in.scan(v)
		return v
	case undefined:
		return Text{}
	default:
		return in.repr(v)
	}
}

// repr is Python's repr: of strings with quotes, as they stand in printed lists.
func (in *interp) repr(v Value) Text {
	var w reprWriter
	w.in = in
	w.write(v)
	return w.taint.as(w.b.String())
}

// reprWriter notes in taint whether anything it wrote came from outside.
type reprWriter struct {
	in    *interp
	b     strings.Builder
	taint Text
}

func (w *reprWriter) see(t Text) {
	if len(t.user) > 0 {
		w.taint = t
	}
}

func (w *reprWriter) write(v Value) {
	w.in.deeper()
	defer w.in.shallower()
	switch v := v.(type) {
	case nil:
		w.b.WriteString("None")
	case bool:
		w.b.WriteString(map[bool]string{true: "True", false: "False"}[v])
	case int64:
		w.b.WriteString(strconv.FormatInt(v, 10))
	case BigInt:
		w.b.WriteString(string(v))
	case float64:
		w.b.WriteString(floatRepr(v, "inf", "nan"))
	case Text:
		w.see(v)
		w.b.WriteString(quote(v.s))
	case *List:
		if v.generator {
			w.b.WriteString("<generator object>")
			return
		}
		open, end := "[", "]"
		if v.tuple {
			open, end = "(", ")"
			if len(v.Items) == 1 {
				end = ",)"
			}
		}
		w.b.WriteString(open)
		for i, item := range v.Items {
			if i > 0 {
				w.b.WriteString(", ")
			}
			w.write(item)
		}
		w.b.WriteString(end)
	case *Dict:
		w.b.WriteByte('{')
		for i, k := range v.keys {
			if i > 0 {
				w.b.WriteString(", ")
			}
			w.write(k)
			w.b.WriteString(": ")
			w.write(v.at(k))
		}
		w.b.WriteByte('}')
	case undefined:
		w.b.WriteString("Undefined")
	default:
		w.b.WriteString("<" + typeName(v) + ">")
	}
	w.in.make(w.b.Len() / 64)
}

// quote is Python's repr of a string.
func quote(s string) string {
	mark := byte('\'')
	if strings.Contains(s, "'") && !strings.Contains(s, `"`) {
		mark = '"'
	}
	var b strings.Builder
	b.WriteByte(mark)
	for _, r := range s {
		switch {
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\\' || r == rune(mark):
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			b.WriteString(`\x`)
			b.WriteByte("0123456789abcdef"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(mark)
	return b.String()
}

// floatRepr is Python's float.__repr__: the shortest digits, with an exponent below
// 1e-4 and from 1e16 on.
func floatRepr(f float64, inf, nan string) string {
	switch {
	case math.IsNaN(f):
		return nan
	case math.IsInf(f, 1):
		return inf
	case math.IsInf(f, -1):
		return "-" + inf
	}
	if a := math.Abs(f); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	s := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s
}
