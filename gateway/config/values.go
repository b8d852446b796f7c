package config

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
)

// Count is a positive whole number, written like 600 or 200k. Zero is refused:
// as a limit it would never refill, and leaving the key out says "no limit".
type Count int64

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *Count) UnmarshalYAML(node *yaml.Node) error { return unmarshal(c, node) }

// Duration is a positive duration, written like 500ms or 10m.
type Duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error { return unmarshal(d, node) }

// MarshalYAML implements yaml.Marshaler.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// Size is a number of bytes, written like 32MiB.
type Size int64

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *Size) UnmarshalYAML(node *yaml.Node) error { return unmarshal(s, node) }

// USD is an amount of money above zero, written like 40 or 0.002.
type USD float64

// UnmarshalYAML implements yaml.Unmarshaler.
func (u *USD) UnmarshalYAML(node *yaml.Node) error { return unmarshal(u, node) }

// quantity is a kind of number that people write with units.
type quantity struct {
	what     string   // in errors
	examples []string // of which errors give the first that is in range
	read     func(string) (float64, error)
}

var quantities = map[reflect.Type]quantity{
	reflect.TypeFor[Count](): {"a whole number", []string{"600", "200k", "5"}, readCount},
	reflect.TypeFor[Duration](): {"a duration with its unit", []string{"10m", "500ms", "720h"}, func(text string) (float64, error) {
		d, err := units.ParseDuration(text)
		return float64(d), err
	}},
	reflect.TypeFor[Size](): {"a size", []string{"32MiB"}, func(text string) (float64, error) {
		n, err := units.ParseBytes(text)
		return float64(n), err
	}},
	reflect.TypeFor[USD](): {"an amount of $", []string{"40"}, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) }},
}

func readCount(text string) (float64, error) {
	v, err := units.ParseCount(text)
	if err == nil && v != math.Trunc(v) {
		err = strconv.ErrSyntax
	}
	return v, err
}

// unmarshal reads a quantity. Its range is that of the key, which is checked before.
func unmarshal[T Count | Duration | Size | USD](to *T, node *yaml.Node) error {
	q := quantities[reflect.TypeFor[T]()]
	v, err := q.read(node.Value)
	if err != nil {
		return fmt.Errorf("line %d: expected %s, like %s, got %q", node.Line, q.what, q.examples[0], shortened(node.Value))
	}
	*to = T(v)
	return nil
}

// Words is a list that says something other when it is empty than when it is
// absent.
type Words []string

// IsZero implements yaml.IsZeroer: an empty list is written.
func (w Words) IsZero() bool { return w == nil }
