//go:build !amd64

package matrix

// There are no vector kernels: the level is Plain.
var (
	blockKernels [bytes16 + 1]blockRow
	floatKernels [brains16 + 1]struct{ one, several floatKernel }
)

func quantizeVector(codes *int8, meta *Meta, x *float32, blocks int) {
	panic("matrix: no vector kernels on this machine")
}
