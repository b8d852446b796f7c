package model

import "golang.org/x/sys/cpu"

// hasVector says whether expVector may be used.
var hasVector = cpu.X86.HasAVX2

// expTable holds the constants of Exp in the order in which expVector expects
// them, each eight times.
var expTable = func() (t [12][8]float32) {
	for i, c := range []float32{expLowest, log2e, rounder, ln2Hi, ln2Lo, coeff5, coeff4, coeff3, coeff2, coeff1, coeff0, 1} {
		for j := range t[i] {
			t[i][j] = c
		}
	}
	return t
}()

// expVector is ExpAll for n elements, a positive multiple of 8. It does what Exp
// does in the same order, so its results are the same to the bit.
//
//go:noescape
func expVector(dst, x *float32, n int, top, scale float32, table *[12][8]float32)
