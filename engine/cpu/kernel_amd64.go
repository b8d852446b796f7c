package cpu

import "golang.org/x/sys/cpu"

// hasVector says whether the kernels below may be used.
var hasVector = cpu.X86.HasAVX2

// accumulateVector is accumulate for width outputs. It multiplies and adds in
// two roundings, not in one fused, so that its sums are those of plain Go.
//
//go:noescape
func accumulateVector(dst, a, b *float32, n, stride int)

// accumulateVector4 is accumulate4.
//
//go:noescape
func accumulateVector4(dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int)
