//go:build !amd64

package model

// hasVector is false where there is no vector kernel.
const hasVector = false

var expTable [12][8]float32

func expVector(dst, x *float32, n int, top, scale float32, table *[12][8]float32) {
	panic("model: no vector kernel")
}
