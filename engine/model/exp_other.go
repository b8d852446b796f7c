//go:build !amd64

package model

// hasVector is false where there are no vector kernels.
const hasVector = false

var expTable [15][8]float32

func expVector(dst, x *float32, n int, top, scale float32, table *[15][8]float32) {
	panic("model: no vector kernel")
}

func gateVector(dst, gate, up *float32, n int, linear, cubic float32, table *[15][8]float32) {
	panic("model: no vector kernel")
}
