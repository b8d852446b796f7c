package main

import (
	"math/rand/v2"
	"slices"
)

// The tokens of prompts: ordinary ones of any vocabulary, beyond bytes and markers.
const (
	firstToken = 1000
	lastToken  = 20_000
)

// prompts draws prompts that only the same seed makes again.
type prompts struct{ rand *rand.Rand }

func newPrompts(repeat int) prompts {
	return prompts{rand.New(rand.NewPCG(uint64(repeat), 0xbe7c))}
}

func (p prompts) tokens(n int) []int32 {
	tokens := make([]int32, n)
	for i := range tokens {
		tokens[i] = firstToken + p.rand.Int32N(lastToken-firstToken)
	}
	return tokens
}

// sharing are prompts that begin alike, and each end in tokens of its own.
func (p prompts) sharing(prefix []int32, n, own int) [][]int32 {
	all := make([][]int32, n)
	for i := range all {
		all[i] = slices.Concat(prefix, p.tokens(own))
	}
	return all
}
