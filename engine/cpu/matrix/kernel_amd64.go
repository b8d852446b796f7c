package matrix

import "unsafe"

var blockKernels = [...]blockRow{
	nibbles:   {one: nibbles1, several: nibbles4, one512: nibbles1x512, several512: nibbles8x512},
	nibbles32: {one: nibblesSingle1, several: nibblesSingle4, one512: nibblesSingle1x512, several512: nibblesSingle8x512},
	bytes8:    {one: bytes1, several: bytes4, one512: bytes1x512, several512: bytes8x512},
	bytes16:   {one: bytesHalves1, several: bytesHalves4, one512: bytesHalves1x512, several512: bytesHalves8x512},
}

var floatKernels = [...]struct{ one, several floatKernel }{
	floats32: {singles1, singles4},
	floats16: {halves1, halves4},
	brains16: {brains1, brains4},
}

// metaBytes is the size that the kernels expect.
const metaBytes = 16

var _ = [1]struct{}{}[unsafe.Sizeof(Meta{})-metaBytes]

// quantizeVector is quantize for AVX2.
//
//go:noescape
func quantizeVector(codes *int8, meta *Meta, x *float32, blocks int)

// Kernels for blocks with AVX2; the number is that of rows.
//
//go:noescape
func nibbles1(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func nibbles4(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func nibblesSingle1(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func nibblesSingle4(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func bytes1(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func bytes4(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func bytesHalves1(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func bytesHalves4(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

// Kernels for blocks with AVX-512 and VNNI.
//
//go:noescape
func nibbles1x512(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func nibbles8x512(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func nibblesSingle1x512(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func nibblesSingle8x512(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func bytes1x512(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func bytes8x512(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func bytesHalves1x512(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

//go:noescape
func bytesHalves8x512(dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)

// Kernels for plain numbers with AVX2.
//
//go:noescape
func singles1(dst *float32, stride int, x *float32, xStride int, panel *byte, n int)

//go:noescape
func singles4(dst *float32, stride int, x *float32, xStride int, panel *byte, n int)

//go:noescape
func halves1(dst *float32, stride int, x *float32, xStride int, panel *byte, n int)

//go:noescape
func halves4(dst *float32, stride int, x *float32, xStride int, panel *byte, n int)

//go:noescape
func brains1(dst *float32, stride int, x *float32, xStride int, panel *byte, n int)

//go:noescape
func brains4(dst *float32, stride int, x *float32, xStride int, panel *byte, n int)
