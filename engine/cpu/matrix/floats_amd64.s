#include "textflag.h"

// The kernels below have the same arguments:
// (dst *float32, stride int, x *float32, xStride int, panel *byte, n int)
// Strides are in bytes. Each input is broadcast and multiplied with 16 weights;
// multiplying and adding are two roundings. SI, R8, R9, R10 walk the rows; Y0–Y7 hold
// the sums, a pair for each row; Y8, Y9: weights.

#define ARGUMENTS \
	MOVQ dst+0(FP), DI       \
	MOVQ stride+8(FP), R11   \
	MOVQ x+16(FP), SI        \
	MOVQ xStride+24(FP), R12 \
	MOVQ panel+32(FP), DX    \
	MOVQ n+40(FP), CX        \
	LEAQ (SI)(R12*1), R8     \
	LEAQ (SI)(R12*2), R9     \
	LEAQ (R8)(R12*2), R10    \
	LEAQ (SI)(CX*4), CX      \
	VXORPS Y0, Y0, Y0        \
	VXORPS Y1, Y1, Y1        \
	VXORPS Y2, Y2, Y2        \
	VXORPS Y3, Y3, Y3        \
	VXORPS Y4, Y4, Y4        \
	VXORPS Y5, Y5, Y5        \
	VXORPS Y6, Y6, Y6        \
	VXORPS Y7, Y7, Y7

#define ROW(p, t0, t1, t2, low, high) \
	VBROADCASTSS (p), t0 \
	VMULPS Y8, t0, t1    \
	VMULPS Y9, t0, t2    \
	VADDPS t1, low, low  \
	VADDPS t2, high, high

#define ROW1(bytes) \
	ADDQ $bytes, DX                    \
	ROW(SI, Y10, Y11, Y12, Y0, Y1)     \
	ADDQ $4, SI

#define ROWS4(bytes) \
	ROW1(bytes)                        \
	ROW(R8, Y13, Y14, Y15, Y2, Y3)     \
	ROW(R9, Y10, Y11, Y12, Y4, Y5)     \
	ROW(R10, Y13, Y14, Y15, Y6, Y7)    \
	ADDQ $4, R8                        \
	ADDQ $4, R9                        \
	ADDQ $4, R10

#define STORE1 \
	VMOVUPS Y0, (DI)   \
	VMOVUPS Y1, 32(DI) \
	VZEROUPPER

#define STORE4 \
	VMOVUPS Y0, (DI)          \
	VMOVUPS Y1, 32(DI)        \
	VMOVUPS Y2, (DI)(R11*1)   \
	VMOVUPS Y3, 32(DI)(R11*1) \
	VMOVUPS Y4, (DI)(R11*2)   \
	VMOVUPS Y5, 32(DI)(R11*2) \
	LEAQ (R11)(R11*2), R11    \
	VMOVUPS Y6, (DI)(R11*1)   \
	VMOVUPS Y7, 32(DI)(R11*1) \
	VZEROUPPER

#define SINGLES \
	VMOVUPS (DX), Y8   \
	VMOVUPS 32(DX), Y9

#define HALVES \
	VCVTPH2PS (DX), Y8   \
	VCVTPH2PS 16(DX), Y9

#define BRAINS \
	VPMOVZXWD (DX), Y8   \
	VPMOVZXWD 16(DX), Y9 \
	VPSLLD $16, Y8, Y8   \
	VPSLLD $16, Y9, Y9

TEXT ·singles1(SB), NOSPLIT, $0-48
	ARGUMENTS
s1:
	SINGLES
	ROW1(64)
	CMPQ SI, CX
	JLT s1
	STORE1
	RET

TEXT ·singles4(SB), NOSPLIT, $0-48
	ARGUMENTS
s4:
	SINGLES
	ROWS4(64)
	CMPQ SI, CX
	JLT s4
	STORE4
	RET

TEXT ·halves1(SB), NOSPLIT, $0-48
	ARGUMENTS
h1:
	HALVES
	ROW1(32)
	CMPQ SI, CX
	JLT h1
	STORE1
	RET

TEXT ·halves4(SB), NOSPLIT, $0-48
	ARGUMENTS
h4:
	HALVES
	ROWS4(32)
	CMPQ SI, CX
	JLT h4
	STORE4
	RET

TEXT ·brains1(SB), NOSPLIT, $0-48
	ARGUMENTS
b1:
	BRAINS
	ROW1(32)
	CMPQ SI, CX
	JLT b1
	STORE1
	RET

TEXT ·brains4(SB), NOSPLIT, $0-48
	ARGUMENTS
b4:
	BRAINS
	ROWS4(32)
	CMPQ SI, CX
	JLT b4
	STORE4
	RET
