package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/llmctl/llmctl/internal/units"
)

// countValue is a flag for a whole number of things, which may be written like
// 8192 or 8k.
type countValue struct{ to *int }

// countVar adds a flag of a count. 0 is the default and means "not said".
func countVar(flags *pflag.FlagSet, to *int, name, help string) {
	flags.Var(countValue{to}, name, help)
	flags.Lookup(name).DefValue = "0"
}

// Set implements pflag.Value.
func (c countValue) Set(s string) error {
	v, err := units.ParseCount(s)
	if err != nil {
		return err
	}
	if v != math.Trunc(v) || v < 1 || v > 1<<40 {
		return fmt.Errorf("%s is not a whole number of at least 1", s)
	}
	*c.to = int(v)
	return nil
}

// String implements pflag.Value.
func (c countValue) String() string {
	if c.to == nil {
		return "0"
	}
	return strconv.Itoa(*c.to)
}

// Type implements pflag.Value.
func (c countValue) Type() string { return "count" }

// windowValue is a flag for the longest sequence, as vLLM reads --max-model-len: a
// capital factor is binary, 1K being 1024, and a small one decimal; auto and -1 are the
// model's own.
type windowValue struct{ to *int }

// Set implements pflag.Value.
func (v windowValue) Set(s string) error {
	if s == "auto" || s == "-1" {
		*v.to = 0
		return nil
	}
	number, factor := s, 1
	for i, capital := range []string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(s, capital); ok {
			number, factor = rest, 1<<(10*(i+1))
		}
	}
	count := 0
	if err := (countValue{&count}).Set(number); err != nil {
		return err
	}
	if count > 1<<40/factor {
		return fmt.Errorf("%s is more than any model's window", s)
	}
	*v.to = count * factor
	return nil
}

// String implements pflag.Value.
func (v windowValue) String() string { return countValue(v).String() }

// Type implements pflag.Value.
func (v windowValue) Type() string { return "count" }

// aboveValue is a flag for a number above 0 and of at most a bound.
type aboveValue struct {
	to   *float64
	most float64
}

// aboveVar adds such a flag. 0 is the default and means "not said".
func aboveVar(flags *pflag.FlagSet, to *float64, most float64, name, help string) {
	flags.Var(aboveValue{to, most}, name, help)
	flags.Lookup(name).DefValue = "0"
}

// Set implements pflag.Value.
func (a aboveValue) Set(s string) error {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v > 0 && v <= a.most) {
		return fmt.Errorf("expected a number of more than 0 and at most %v", a.most)
	}
	*a.to = v
	return nil
}

// String implements pflag.Value.
func (a aboveValue) String() string {
	if a.to == nil {
		return "0"
	}
	return strconv.FormatFloat(*a.to, 'g', -1, 64)
}

// Type implements pflag.Value.
func (aboveValue) Type() string { return "float" }
