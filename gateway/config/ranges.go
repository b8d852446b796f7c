package config

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// span is what a number may be: from least to most, with open whether least
// itself is left out.
type span struct {
	least, most float64
	open        bool
}

// anything is the range of a field that has none: finite, and above zero.
var anything = span{least: 0, most: 1e15, open: true}

// spanOf reads a field's tag, written as in mathematics: in:"(0,1]" is above 0 and
// at most 1.
func spanOf(f reflect.StructField) (s span, ok bool) {
	text, ok := f.Tag.Lookup("in")
	if !ok {
		return anything, false
	}
	least, most, cut := strings.Cut(strings.Trim(text, "([]"), ",")
	var bad1, bad2 error
	s.least, bad1 = strconv.ParseFloat(least, 64)
	s.most, bad2 = strconv.ParseFloat(most, 64)
	if !cut || bad1 != nil || bad2 != nil {
		panic(fmt.Sprintf("config: the field %s has the malformed range %q", f.Name, text))
	}
	s.open = text[0] == '('
	return s, true
}

// holds is false for what is no number, too.
func (s span) holds(v float64) bool {
	return v >= s.least && v <= s.most && (!s.open || v != s.least)
}

func (s span) expected(kind reflect.Kind) string {
	what, from := "a number", "from"
	if kind == reflect.Int || kind == reflect.Int64 {
		what = "a whole number"
	}
	if s.open {
		from = "above"
	}
	digits := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
	return fmt.Sprintf("expected %s %s %s to %s", what, from, digits(s.least), digits(s.most))
}

var reads = reflect.TypeFor[yaml.Unmarshaler]()

// checkScalar checks what the YAML library would read in silence, such as 1.5 as
// the whole number 1, and words its errors. Types that read themselves do so.
func checkScalar(key string, node *yaml.Node, f reflect.StructField) error {
	t := f.Type
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if reflect.PointerTo(t).Implements(reads) {
		return nil
	}
	expected := ""
	switch t.Kind() {
	case reflect.Bool:
		var b bool
		if node.Decode(&b) != nil {
			expected = "expected true or false"
		}
	case reflect.Int, reflect.Float64:
		var v float64
		s, _ := spanOf(f)
		if err := node.Decode(&v); err != nil || !s.holds(v) || t.Kind() == reflect.Int && v != float64(int64(v)) {
			expected = s.expected(t.Kind())
		}
	}
	if expected != "" {
		return fmt.Errorf("line %d: %s: %s, got %q", node.Line, key, expected, shortened(node.Value))
	}
	return nil
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
	if v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.IsZero() && f.Type.Kind() != reflect.Pointer {
		return nil
	}
	s, ok := spanOf(f)
	var number float64
	switch {
	case v.CanInt():
		number = float64(v.Int())
		if !ok && number < 0 {
			return fmt.Errorf("%s: expected a value above 0, got %v", path, number)
		}
	case v.CanFloat():
		number = v.Float()
		if !ok && !(number > 0) {
			return fmt.Errorf("%s: expected a value above 0, got %v", path, number)
		}
	}
	if ok && v.Kind() != reflect.Pointer && !s.holds(number) {
		return fmt.Errorf("%s: %s, got %v", path, s.expected(v.Kind()), number)
	}
	return nil
}
