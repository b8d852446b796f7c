//go:build !amd64

package attention

// There are no vector kernels here: the level is vector.Plain.
var (
	kernels [FP8 + 1]struct{ score, mix [maxKernelRows]func(*work) }

	wideners [FP8 + 1]struct {
		keys, values func(dst *float32, src, scales *byte, rows, n int)
	}
)
