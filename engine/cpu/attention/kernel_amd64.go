package attention

import "unsafe"

// kernels holds those of each type, for one to four rows.
var kernels = [...]struct{ score, mix [maxKernelRows]func(*work) }{
	Float32: {
		score: [maxKernelRows]func(*work){scoreSingles1, scoreSingles2, scoreSingles3, scoreSingles4},
		mix:   [maxKernelRows]func(*work){mixSingles1, mixSingles2, mixSingles3, mixSingles4},
	},
	Float16: {
		score: [maxKernelRows]func(*work){scoreHalves1, scoreHalves2, scoreHalves3, scoreHalves4},
		mix:   [maxKernelRows]func(*work){mixHalves1, mixHalves2, mixHalves3, mixHalves4},
	},
	BFloat16: {
		score: [maxKernelRows]func(*work){scoreBrains1, scoreBrains2, scoreBrains3, scoreBrains4},
		mix:   [maxKernelRows]func(*work){mixBrains1, mixBrains2, mixBrains3, mixBrains4},
	},
	Int8: {
		score: [maxKernelRows]func(*work){scoreBytes1, scoreBytes2, scoreBytes3, scoreBytes4},
		mix:   [maxKernelRows]func(*work){mixBytes1, mixBytes2, mixBytes3, mixBytes4},
	},
	FP8: {
		score: [maxKernelRows]func(*work){scoreEighths1, scoreEighths2, scoreEighths3, scoreEighths4},
		mix:   [maxKernelRows]func(*work){mixEighths1, mixEighths2, mixEighths3, mixEighths4},
	},
}

// wideners convert K and V of each type.
var wideners = [...]struct {
	keys, values func(dst *float32, src, scales *byte, rows, n int)
}{
	Float16:  {widenHalves, widenHalves},
	BFloat16: {widenBrains, widenBrains},
	Int8:     {widenBytesKeys, widenBytesValues},
	FP8:      {widenEighthsKeys, widenEighthsValues},
}

// The kernels read a work's fields at these places.
var _ = [1]struct{}{}[unsafe.Offsetof(work{}.last)-104]

//go:noescape
func scoreSingles1(w *work)

//go:noescape
func scoreSingles2(w *work)

//go:noescape
func scoreSingles3(w *work)

//go:noescape
func scoreSingles4(w *work)

//go:noescape
func mixSingles1(w *work)

//go:noescape
func mixSingles2(w *work)

//go:noescape
func mixSingles3(w *work)

//go:noescape
func mixSingles4(w *work)

//go:noescape
func scoreHalves1(w *work)

//go:noescape
func scoreHalves2(w *work)

//go:noescape
func scoreHalves3(w *work)

//go:noescape
func scoreHalves4(w *work)

//go:noescape
func mixHalves1(w *work)

//go:noescape
func mixHalves2(w *work)

//go:noescape
func mixHalves3(w *work)

//go:noescape
func mixHalves4(w *work)

//go:noescape
func scoreBrains1(w *work)

//go:noescape
func scoreBrains2(w *work)

//go:noescape
func scoreBrains3(w *work)

//go:noescape
func scoreBrains4(w *work)

//go:noescape
func mixBrains1(w *work)

//go:noescape
func mixBrains2(w *work)

//go:noescape
func mixBrains3(w *work)

//go:noescape
func mixBrains4(w *work)

//go:noescape
func scoreBytes1(w *work)

//go:noescape
func scoreBytes2(w *work)

//go:noescape
func scoreBytes3(w *work)

//go:noescape
func scoreBytes4(w *work)

//go:noescape
func mixBytes1(w *work)

//go:noescape
func mixBytes2(w *work)

//go:noescape
func mixBytes3(w *work)

//go:noescape
func mixBytes4(w *work)

//go:noescape
func scoreEighths1(w *work)

//go:noescape
func scoreEighths2(w *work)

//go:noescape
func scoreEighths3(w *work)

//go:noescape
func scoreEighths4(w *work)

//go:noescape
func mixEighths1(w *work)

//go:noescape
func mixEighths2(w *work)

//go:noescape
func mixEighths3(w *work)

//go:noescape
func mixEighths4(w *work)

//go:noescape
func widenHalves(dst *float32, src, scales *byte, rows, n int)

//go:noescape
func widenBrains(dst *float32, src, scales *byte, rows, n int)

//go:noescape
func widenBytesKeys(dst *float32, src, scales *byte, rows, n int)

//go:noescape
func widenBytesValues(dst *float32, src, scales *byte, rows, n int)

//go:noescape
func widenEighthsKeys(dst *float32, src, scales *byte, rows, n int)

//go:noescape
func widenEighthsValues(dst *float32, src, scales *byte, rows, n int)
