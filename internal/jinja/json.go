package jinja

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxJSON is how deep JSON from outside may nest.
const maxJSON = 200

// FromJSON reads a document of the user's: mappings keep the order of their keys,
// numbers are whole where they are written without a point or an exponent.
func FromJSON(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := fromJSON(d, 0)
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("text after the JSON document")
	}
	return v, nil
}

func fromJSON(d *json.Decoder, depth int) (Value, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxJSON {
		return nil, fmt.Errorf("JSON nested more than %d deep", maxJSON)
	}
	switch t := t.(type) {
	case string:
		return User(t), nil
	case json.Number:
		return fromNumber(t), nil
	case json.Delim:
		if t == '[' {
			return fromArray(d, depth)
		}
		return fromObject(d, depth)
	}
	return t, nil // a bool, or nil
}

func fromNumber(n json.Number) Value {
	if strings.ContainsAny(string(n), ".eE") {
		f, _ := strconv.ParseFloat(string(n), 64) // beyond the range: ±Inf, as in Python
		return f
	}
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return i
	}
	return BigInt(n)
}

func fromArray(d *json.Decoder, depth int) (Value, error) {
	l := &List{}
	for d.More() {
		v, err := fromJSON(d, depth+1)
		if err != nil {
			return nil, err
		}
		l.Items = append(l.Items, v)
	}
	_, err := d.Token()
	return l, err
}

func fromObject(d *json.Decoder, depth int) (Value, error) {
	out := NewDict()
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := fromJSON(d, depth+1)
		if err != nil {
			return nil, err
		}
		out.Set(User(key.(string)), v)
	}
	_, err := d.Token()
	return out, err
}

// toJSON is Python's json.dumps, with the parameters that transformers gives the
// filter.
func toJSON(in *interp, v Value, a args) Value {
	w := jsonWriter{in: in, item: ", ", key: ": "}
	ascii, _ := a.get(0, "ensure_ascii")
	w.ascii = truth(ascii)
	if width, ok := a.get(1, "indent"); ok && width != nil {
		w.item = ","
		if t, ok := width.(Text); ok {
			w.indent = "\n" + t.s
		} else {
			w.indent = "\n" + strings.Repeat(" ", int(min(max(in.count(a, 1, "indent", 0), 0), 100)))
		}
	}
	if separators, ok := a.get(2, "separators"); ok && separators != nil {
		pair := in.items(separators)
		if len(pair) != 2 {
			in.fail("separators must be two strings")
		}
		w.item, w.key = in.str(pair[0]).s, in.str(pair[1]).s
	}
	sortKeys, _ := a.get(3, "sort_keys")
	w.sort = truth(sortKeys)
	w.write(v, "")
	in.make(w.b.Len())
	return w.taint.as(w.b.String())
}

type jsonWriter struct {
	in          *interp
	b           strings.Builder
	taint       Text
	item, key   string
	indent      string // "" for none, else a newline and the spaces of a level
	ascii, sort bool
}

// write appends a value; margin is the white space of its own level.
func (w *jsonWriter) write(v Value, margin string) {
	w.in.deeper()
	defer w.in.shallower()
	switch v := v.(type) {
	case nil:
		w.b.WriteString("null")
	case bool:
		w.b.WriteString(strconv.FormatBool(v))
	case int64:
		w.b.WriteString(strconv.FormatInt(v, 10))
	case BigInt:
		w.b.WriteString(string(v))
	case float64:
		w.b.WriteString(floatRepr(v, "Infinity", "NaN"))
	case Text:
		w.str(v)
	case *List:
		if v.generator {
			w.in.fail("Object of type generator is not JSON serializable")
		}
		w.container('[', ']', len(v.Items), margin, func(i int, margin string) { w.write(v.Items[i], margin) })
	case *Dict:
		keys := v.keys
		if w.sort {
			keys = w.in.sorted(keys, func(k Value) Value { return k }, false)
		}
		w.container('{', '}', len(keys), margin, func(i int, margin string) {
			w.jsonKey(keys[i])
			w.b.WriteString(w.key)
			w.write(v.at(keys[i]), margin)
		})
	default:
		w.in.fail("Object of type %s is not JSON serializable", typeName(v))
	}
}

// jsonKey writes a key, as a string in any case.
func (w *jsonWriter) jsonKey(key Value) {
	if t, ok := key.(Text); ok {
		w.str(t)
		return
	}
	inner := jsonWriter{in: w.in}
	inner.write(key, "")
	w.str(Trusted(inner.b.String()))
}

func (w *jsonWriter) container(open, end byte, n int, margin string, write func(i int, margin string)) {
	w.b.WriteByte(open)
	inner := margin
	if w.indent != "" {
		if inner == "" {
			inner = w.indent
		} else {
			inner += w.indent[1:]
		}
	}
	for i := range n {
		if i > 0 {
			w.b.WriteString(w.item)
		}
		w.b.WriteString(inner)
		w.in.make(len(inner))
		write(i, inner)
	}
	if n > 0 && w.indent != "" {
		if margin == "" {
			margin = "\n"
		}
		w.b.WriteString(margin)
	}
	w.b.WriteByte(end)
}

var jsonEscapes = map[rune]string{'"': `\"`, '\\': `\\`, '\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

func (w *jsonWriter) str(t Text) {
	if len(t.user) > 0 {
		w.taint = t
	}
	w.in.make(len(t.s))
	w.b.WriteByte('"')
	for _, r := range t.s {
		switch text, ok := jsonEscapes[r]; {
		case ok:
			w.b.WriteString(text)
		case r < 0x20, w.ascii && r >= 0x7f && r < 0x10000:
			fmt.Fprintf(&w.b, `\u%04x`, r)
		case w.ascii && r >= 0x10000:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&w.b, `\u%04x\u%04x`, hi, lo)
		default:
			w.b.WriteRune(r)
		}
	}
	w.b.WriteByte('"')
}
