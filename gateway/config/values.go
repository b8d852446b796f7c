package config

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
)

// maxCount is the largest limit that a configuration may name.
const maxCount = 1 << 40

// maxUSD is the largest amount that a configuration may name.
const maxUSD = 1e12

// Count is a positive whole number, written like 600 or 200k. Zero is refused:
// as a limit it would never refill, and leaving the key out says "no limit".
type Count int64

// UnmarshalYAML implements yaml.Unmarshaler.
func (c *Count) UnmarshalYAML(node *yaml.Node) error {
	v, err := units.ParseCount(node.Value)
	if err != nil || v != math.Trunc(v) || v < 1 || v > maxCount {
		return fmt.Errorf("line %d: expected a whole number from 1, like 600 or 200k, got %q", node.Line, shortened(node.Value))
	}
	*c = Count(v)
	return nil
}

// Duration is a positive duration, written like 500ms or 10m.
type Duration time.Duration

// UnmarshalYAML implements yaml.Unmarshaler.
func (d *Duration) UnmarshalYAML(node *yaml.Node) error {
	v, err := units.ParseDuration(node.Value)
	if err != nil || v <= 0 {
		return fmt.Errorf("line %d: expected a duration above zero, like 500ms or 10m, got %q", node.Line, shortened(node.Value))
	}
	*d = Duration(v)
	return nil
}

// MarshalYAML implements yaml.Marshaler.
func (d Duration) MarshalYAML() (any, error) { return time.Duration(d).String(), nil }

// Size is a number of bytes, written like 32MiB.
type Size int64

// UnmarshalYAML implements yaml.Unmarshaler.
func (s *Size) UnmarshalYAML(node *yaml.Node) error {
	v, err := units.ParseBytes(node.Value)
	if err != nil || v < 1 {
		return fmt.Errorf("line %d: expected a size above zero, like 32MiB, got %q", node.Line, shortened(node.Value))
	}
	*s = Size(v)
	return nil
}

// USD is an amount of money above zero, written like 40 or 0.002.
type USD float64

// UnmarshalYAML implements yaml.Unmarshaler.
func (u *USD) UnmarshalYAML(node *yaml.Node) error {
	v, err := strconv.ParseFloat(node.Value, 64)
	if err != nil || !(v > 0) || v > maxUSD {
		return fmt.Errorf("line %d: expected an amount of $ above zero, like 40 or 0.002, got %q", node.Line, shortened(node.Value))
	}
	*u = USD(v)
	return nil
}

// Words is a list that says something other when it is empty than when it is
// absent.
type Words []string

// IsZero implements yaml.IsZeroer: an empty list is written.
func (w Words) IsZero() bool { return w == nil }
