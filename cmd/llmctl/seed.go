package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/pflag"
)

// seedValue is a flag of a seed. It implements pflag.Value.
type seedValue struct{ to *uint64 }

// seedVar adds --seed.
func seedVar(flags *pflag.FlagSet, to *uint64, standard uint64, help string) {
	*to = standard
	flags.Var(seedValue{to}, "seed", help)
}

// Set implements pflag.Value.
func (v seedValue) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return fmt.Errorf("expected a whole number from 0 to 2^64 − 1, got %q", s)
	}
	*v.to = n
	return nil
}

// String implements pflag.Value.
func (v seedValue) String() string {
	if v.to == nil {
		return "0"
	}
	return strconv.FormatUint(*v.to, 10)
}

// Type implements pflag.Value.
func (seedValue) Type() string { return "uint" }
