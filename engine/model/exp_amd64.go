package model

import (
	"math"

	"golang.org/x/sys/cpu"
)

// hasVector says whether the kernels below may be used.
var hasVector = cpu.X86.HasAVX2

// expTable holds the constants of Exp in the order in which the kernels expect
// them, each eight times.
var expTable = func() (t [15][8]float32) {
	for i, c := range []float32{
		expLowest, log2e, rounder, ln2Hi, ln2Lo, coeff5, coeff4, coeff3, coeff2, coeff1, coeff0, 1, expHighest, float32(math.Inf(1)), largestSquare,
	} {
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
func expVector(dst, x *float32, n int, top, scale float32, table *[15][8]float32)

// gateVector is Gate for n elements, a positive multiple of 8.
//
//go:noescape
func gateVector(dst, gate, up *float32, n int, linear, cubic float32, table *[15][8]float32)
