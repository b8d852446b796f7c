package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// positiveValue is a flag for a number above 0 and up to a bound.
type positiveValue struct {
	to   *float64
	most float64
}

// positiveVar adds a flag of a number above 0. 0 is the default, means "not said", and
// cannot be said.
func positiveVar(flags *pflag.FlagSet, to *float64, name string, most float64, help string) {
	flags.Var(positiveValue{to, most}, name, help)
	flags.Lookup(name).DefValue = "0"
}

// Set implements pflag.Value.
func (v positiveValue) Set(s string) error {
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || !(x > 0 && x <= v.most) {
		return fmt.Errorf("expected a number more than 0 and at most %v", v.most)
	}
	*v.to = x
	return nil
}

// String implements pflag.Value.
func (v positiveValue) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.FormatFloat(*v.to, 'g', -1, 64)
}

// Type implements pflag.Value.
func (positiveValue) Type() string { return "float" }
