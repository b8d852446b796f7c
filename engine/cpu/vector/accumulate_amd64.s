#include "textflag.h"

// The kernels below have the same arguments:
// (dst *float32, dstStride int, a *float32, aStride int, b *float32, n, stride int)
// Each adds to 16 outputs of as many rows as its name says. Elements of a are
// broadcast and multiplied with 16 of b; multiplying and adding are two roundings.
// SI, R8, R9, R10 walk the rows of a; Y0–Y7 hold the sums, a pair for each row.

#define ARGUMENTS \
	MOVQ dst+0(FP), DI        \
	MOVQ dstStride+8(FP), R11 \
	MOVQ a+16(FP), SI         \
	MOVQ aStride+24(FP), R12  \
	MOVQ b+32(FP), DX         \
	MOVQ n+40(FP), CX         \
	MOVQ stride+48(FP), BX    \
	SHLQ $2, R11              \
	SHLQ $2, R12              \
	SHLQ $2, BX               \
	LEAQ (SI)(R12*1), R8      \
	LEAQ (SI)(R12*2), R9      \
	LEAQ (R8)(R12*2), R10     \
	LEAQ (DI)(R11*1), R13     \
	LEAQ (DI)(R11*2), AX      \
	LEAQ (R13)(R11*2), R12    \
	XORQ R11, R11

#define LOAD(p, low, high) \
	VMOVUPS (p), low    \
	VMOVUPS 32(p), high

#define STORE(p, low, high) \
	VMOVUPS low, (p)    \
	VMOVUPS high, 32(p)

#define ROW(p, t0, t1, t2, low, high) \
	VBROADCASTSS (p)(R11*4), t0 \
	VMULPS Y8, t0, t1           \
	VMULPS Y9, t0, t2           \
	VADDPS t1, low, low         \
	VADDPS t2, high, high

#define STEP(again) \
	ADDQ BX, DX   \
	INCQ R11      \
	CMPQ R11, CX  \
	JLT again     \

TEXT ·accumulate1(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD(DI, Y0, Y1)
one:
	LOAD(DX, Y8, Y9)
	ROW(SI, Y10, Y11, Y12, Y0, Y1)
	STEP(one)
	STORE(DI, Y0, Y1)
	VZEROUPPER
	RET

TEXT ·accumulate2(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD(DI, Y0, Y1)
	LOAD(R13, Y2, Y3)
two:
	LOAD(DX, Y8, Y9)
	ROW(SI, Y10, Y11, Y12, Y0, Y1)
	ROW(R8, Y13, Y14, Y15, Y2, Y3)
	STEP(two)
	STORE(DI, Y0, Y1)
	STORE(R13, Y2, Y3)
	VZEROUPPER
	RET

TEXT ·accumulate3(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD(DI, Y0, Y1)
	LOAD(R13, Y2, Y3)
	LOAD(AX, Y4, Y5)
three:
	LOAD(DX, Y8, Y9)
	ROW(SI, Y10, Y11, Y12, Y0, Y1)
	ROW(R8, Y13, Y14, Y15, Y2, Y3)
	ROW(R9, Y10, Y11, Y12, Y4, Y5)
	STEP(three)
	STORE(DI, Y0, Y1)
	STORE(R13, Y2, Y3)
	STORE(AX, Y4, Y5)
	VZEROUPPER
	RET

TEXT ·accumulate4(SB), NOSPLIT, $0-56
	ARGUMENTS
	LOAD(DI, Y0, Y1)
	LOAD(R13, Y2, Y3)
	LOAD(AX, Y4, Y5)
	LOAD(R12, Y6, Y7)
four:
	LOAD(DX, Y8, Y9)
	ROW(SI, Y10, Y11, Y12, Y0, Y1)
	ROW(R8, Y13, Y14, Y15, Y2, Y3)
	ROW(R9, Y10, Y11, Y12, Y4, Y5)
	ROW(R10, Y13, Y14, Y15, Y6, Y7)
	STEP(four)
	STORE(DI, Y0, Y1)
	STORE(R13, Y2, Y3)
	STORE(AX, Y4, Y5)
	STORE(R12, Y6, Y7)
	VZEROUPPER
	RET
