package profiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/llmctl/llmctl/internal/userfile"
)

// Bounds on what a config may claim. They are far above any published model and
// keep arithmetic on the products inside int64.
const (
	maxWidth      = 1 << 24
	maxLayers     = 10_000
	maxTokens     = 1 << 27
	maxParameters = 1e15
	maxCached     = 1e9  // values that one token leaves in the cache
	maxState      = 1e13 // values that a sequence keeps whatever its length
)

// config reads fields of one JSON object and remembers the first thing that it
// could not understand, so that the code that reads reads like a list of facts.
// A null counts as absent.
type config struct {
	fields   map[string]any
	defaults map[string]any    // of the model's class, for fields the file leaves out
	aliases  map[string]string // of the model's family: our name to the file's
	path     string            // prefix for messages, e.g. "text_config."
	err      error
}

// decodeConfig parses a config.json. Python writes Infinity and NaN, which JSON
// does not have; no size can be read from them.
func decodeConfig(data []byte) (*config, error) {
	decoder := json.NewDecoder(bytes.NewReader(withoutPythonNumbers(data)))
	decoder.UseNumber()
	var fields map[string]any
	if err := decoder.Decode(&fields); err != nil {
		return nil, userfile.JSONError(err)
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("decoding JSON: more text after the first object")
	}
	if fields == nil {
		return nil, fmt.Errorf("decoding JSON: expected an object, got null")
	}
	return &config{fields: fields}, nil
}

// pythonNumber is a word that Python writes for a number that JSON has not.
type pythonNumber string

// pythonNumbers are those words by the strings that stand for them while JSON is
// decoded. The longer word goes first.
var pythonNumbers = []struct{ word, text string }{
	{"-Infinity", "\x00-Infinity"}, {"Infinity", "\x00Infinity"}, {"NaN", "\x00NaN"},
}

// orPython returns the word that a string stands for, or any other value as it is.
func orPython(value any) any {
	text, ok := value.(string)
	if !ok || !strings.HasPrefix(text, "\x00") {
		return value
	}
	for _, n := range pythonNumbers {
		if text == n.text {
			return pythonNumber(n.word)
		}
	}
	return value
}

// withoutPythonNumbers replaces Infinity, -Infinity and NaN outside of strings
// by strings that stand for them.
func withoutPythonNumbers(data []byte) []byte {
	if !bytes.Contains(data, []byte("Infinity")) && !bytes.Contains(data, []byte("NaN")) {
		return data
	}
	out := make([]byte, 0, len(data))
	quoted := false
	for i := 0; i < len(data); {
		rest := data[i:]
		if !quoted {
			skipped := 0
			for _, n := range pythonNumbers {
				if bytes.HasPrefix(rest, []byte(n.word)) {
					out = append(append(append(out, `"\u0000`...), n.word...), '"')
					skipped = len(n.word)
					break
				}
			}
			if skipped > 0 {
				i += skipped
				continue
			}
		}
		switch {
		case rest[0] == '"':
			quoted = !quoted
		case rest[0] == '\\' && quoted && len(rest) > 1:
			out = append(out, rest[0])
			i++
		}
		out = append(out, data[i])
		i++
	}
	return out
}

// refuse records that a field can not be understood.
func (c *config) refuse(field, format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("field %s%s: %s", c.path, field, fmt.Sprintf(format, args...))
	}
}

// lookup returns the first of the named fields that is present and not null,
// then the one that the family calls differently, then the class default of the
// first name.
func (c *config) lookup(names ...string) (name string, value any, ok bool) {
	for _, name := range names {
		if v := c.fields[name]; v != nil {
			return name, orPython(v), true
		}
		if alias, ok := c.aliases[name]; ok {
			if v := c.nested(alias); v != nil {
				return alias, orPython(v), true
			}
		}
	}
	if v, ok := c.defaults[names[0]]; ok {
		return names[0], v, true
	}
	return names[0], nil, false
}

// nested finds a field below others by a path with dots; nil when it is absent.
func (c *config) nested(path string) any {
	fields := c.fields
	for {
		head, rest, deeper := strings.Cut(path, ".")
		if !deeper {
			return fields[head]
		}
		fields, _ = fields[head].(map[string]any)
		path = rest
	}
}

// has reports whether the file itself names the field, be it null.
func (c *config) has(name string) bool {
	_, ok := c.fields[name]
	return ok
}

// count reads an integer from low to high; ok is false when it is absent.
func (c *config) count(low, high int, names ...string) (n int, ok bool) {
	name, value, ok := c.lookup(names...)
	if !ok {
		return 0, false
	}
	n, whole := integer(value)
	if !whole {
		c.refuse(name, "expected an integer, got %s", show(value))
		return 0, false
	}
	if n < low || n > high {
		c.refuse(name, "%d is outside %d to %d", n, low, high)
		return 0, false
	}
	return n, true
}

// width reads a positive dimension that must be there.
func (c *config) width(names ...string) int {
	n, ok := c.count(1, maxWidth, names...)
	if !ok {
		c.refuse(names[0], "is missing")
		return 1
	}
	return n
}

// widthOr reads a positive dimension with a fallback.
func (c *config) widthOr(fallback int, names ...string) int {
	if n, ok := c.count(1, maxWidth, names...); ok {
		return n
	}
	return fallback
}

// flag reads a boolean.
func (c *config) flag(fallback bool, names ...string) bool {
	name, value, ok := c.lookup(names...)
	if !ok {
		return fallback
	}
	b, isBool := value.(bool)
	if !isBool {
		c.refuse(name, "expected true or false, got %s", show(value))
	}
	return b
}

// number reads a finite number.
func (c *config) number(fallback float64, names ...string) float64 {
	name, value, ok := c.lookup(names...)
	if !ok {
		return fallback
	}
	var f float64
	switch v := value.(type) {
	case float64:
		f = v
	case json.Number:
		parsed, err := v.Float64()
		if err != nil {
			c.refuse(name, "expected a number, got %s", v)
			return fallback
		}
		f = parsed
	default:
		c.refuse(name, "expected a number, got %s", show(value))
	}
	return f
}

// text reads a string.
func (c *config) text(fallback string, names ...string) string {
	name, value, ok := c.lookup(names...)
	if !ok {
		return fallback
	}
	s, isString := value.(string)
	if !isString {
		c.refuse(name, "expected a string, got %s", show(value))
	}
	return s
}

// list reads an array; ok is false when it is absent.
func (c *config) list(name string) (items []any, ok bool) {
	_, value, ok := c.lookup(name)
	if !ok {
		return nil, false
	}
	items, isList := value.([]any)
	if !isList {
		c.refuse(name, "expected a list, got %s", show(value))
		return nil, false
	}
	return items, true
}

// object reads a nested object; nil when it is absent.
func (c *config) object(name string) *config {
	_, value, ok := c.lookup(name)
	if !ok {
		return nil
	}
	fields, isObject := value.(map[string]any)
	if !isObject {
		c.refuse(name, "expected an object, got %s", show(value))
		return nil
	}
	return &config{fields: fields, path: c.path + name + "."}
}

// adopt takes over the first error of a nested object.
func (c *config) adopt(nested *config) {
	if nested != nil && c.err == nil {
		c.err = nested.err
	}
}

// integer accepts 4096 and 4096.0.
func integer(value any) (int, bool) {
	switch v := value.(type) {
	case int:
		return v, true
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return int(n), true
		}
		f, err := v.Float64()
		if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return 0, false
		}
		return int(f), true
	}
	return 0, false
}

// show words a JSON value for a message, cut to a length that fits a line.
func show(value any) string {
	if n, ok := orPython(value).(pythonNumber); ok {
		return string(n)
	}
	if n, ok := value.(pythonNumber); ok {
		return string(n)
	}
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("%v", value)
	}
	s := string(b)
	for _, n := range pythonNumbers {
		s = strings.ReplaceAll(s, `"\u0000`+n.word+`"`, n.word)
	}
	if len(s) > 40 {
		s = strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}
