package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
)

// span is what a number may be: from least to most, with open whether least
// itself is left out. A price that its unit would round to 0 is none, and none was
// meant, so that zero may stand below a gap.
type span struct {
	least, most float64
	open        bool
	zero        bool   // 0 may be, too
	from, to    string // as the tag writes them
}

// spanOf reads a field's tag, written as in mathematics: in:"(0,1]" is above 0 and
// at most 1, in:"[1ms,24h]" a duration from 1ms to 24h, and
// in:"0 or [1,5]" leaves a gap. Fields that hold no number
// have none.
func spanOf(f reflect.StructField) (s span, ok bool) {
	text, ok := f.Tag.Lookup("in")
	if !ok {
		return span{}, false
	}
	text, zero := strings.CutPrefix(text, "0 or ")
	from, to, cut := strings.Cut(strings.Trim(text, "([]"), ",")
	s = span{open: text[0] == '(', zero: zero, from: from, to: to}
	var bad1, bad2 error
	s.least, bad1 = bound(elem(f.Type), from)
	s.most, bad2 = bound(elem(f.Type), to)
	if !cut || bad1 != nil || bad2 != nil {
		panic(fmt.Sprintf("config: the field %s has the malformed range %q", f.Name, text))
	}
	return s, true
}

func bound(t reflect.Type, text string) (float64, error) {
	if q, ok := quantities[t]; ok && t != reflect.TypeFor[USD]() {
		return q.read(text)
	}
	if v, err := strconv.ParseFloat(text, 64); err == nil {
		return v, nil
	}
	return units.ParseCount(text)
}

func elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// holds is false for what is no number, too.
func (s span) holds(v float64) bool {
	return v >= s.least && v <= s.most && (!s.open || v != s.least) || s.zero && v == 0
}

// String is the range in words: 1ms to 24h, above 0 to 1.
func (s span) String() string {
	if s.zero {
		return fmt.Sprintf("0 or %s to %s", s.from, s.to)
	}
	if s.open {
		return fmt.Sprintf("above %s to %s", s.from, s.to)
	}
	return fmt.Sprintf("%s to %s", s.from, s.to)
}

func (s span) expected(t reflect.Type) string {
	q, written := quantities[t]
	switch {
	case t.Kind() == reflect.Int:
		q.what = "a whole number"
	case !written:
		q.what = "a number"
	}
	text := fmt.Sprintf("expected %s from %s", q.what, s)
	switch {
	case s.open:
		text = fmt.Sprintf("expected %s %s", q.what, s)
	case s.zero:
		text = fmt.Sprintf("expected %s, %s", q.what, s)
	}
	for _, example := range q.examples {
		if v, err := q.read(example); err == nil && s.holds(v) {
			return text + ", like " + example
		}
	}
	return text
}

// checkScalar checks what the YAML library would read in silence, such as 1.5 as
// the whole number 1, and words its errors.
func checkScalar(path string, node *yaml.Node, f reflect.StructField) error {
	t := elem(f.Type)
	if t.Kind() == reflect.Bool {
		unquote(node, t)
		if node.Decode(new(bool)) != nil {
			return wrong(path, node, "expected true or false, got %q", shortened(node.Value))
		}
		return nil
	}
	s, ok := spanOf(f)
	if !ok {
		return nil
	}
	if octal.MatchString(node.Value) {
		return wrong(path, node, "%s, got %q: write it without the leading zero, which some tools take for an octal number", s.expected(t), shortened(node.Value))
	}
	var v float64
	var err error
	if q, ok := quantities[t]; ok {
		v, err = q.read(node.Value)
	} else {
		unquote(node, t)
		err = node.Decode(&v)
	}
	if err != nil || !s.holds(v) || t.Kind() == reflect.Int && v != float64(int64(v)) {
		return wrong(path, node, "%s, got %q%s", s.expected(t), shortened(node.Value), unitless(t, node.Value))
	}
	return nil
}

// unitless guesses the unit of a duration that has none: other gateways count
// seconds.
func unitless(t reflect.Type, text string) string {
	if _, err := strconv.ParseFloat(text, 64); t != reflect.TypeFor[Duration]() || err != nil || len(text) > 9 {
		return ""
	}
	return fmt.Sprintf(", did you mean %ss?", text)
}

// shortened is the beginning of a value, enough to find it by.
func shortened(s string) string {
	const most = 40
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// checkRanges checks the numbers of a configuration that was not read from a
// file. A zero is a number that was left out.
func checkRanges(path string, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return checkRanges(path, v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			if err := checkRanges(fmt.Sprintf("%s[%d]", path, i), v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			at := strings.TrimPrefix(path+"."+key, ".")
			if err := checkField(at, v.Field(i), f); err != nil {
				return err
			}
			if err := checkRanges(at, v.Field(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkField(path string, v reflect.Value, f reflect.StructField) error {
	s, ok := spanOf(f)
	if v.Kind() == reflect.Pointer {
		v = v.Elem() // invalid when there is none
	} else if v.IsZero() {
		return nil
	}
	if !ok || !v.IsValid() {
		return nil
	}
	number := 0.0
	if v.CanInt() {
		number = float64(v.Int())
	} else {
		number = v.Float()
	}
	if !s.holds(number) {
		return fmt.Errorf("%s: %s, got %v", path, s.expected(elem(f.Type)), v.Interface())
	}
	return nil
}
