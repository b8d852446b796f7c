#include "textflag.h"

// The kernels below are those of blocks_amd64.s for AVX-512 with VNNI: one register
// holds all 16 outputs of a panel, and eight rows of activations share its weights.
// Z0–Z7: sums of a block, exact; Z8–Z15: outputs; Z18: four codes of 16 outputs; Z19,
// Z20: scales and minimums. SI and R8 walk the codes of rows 0 and 4, BX and R15 their
// meta; the other rows are strides away: R9, twice that and R10; R11, twice that and R12.

DATA lower<>+0(SB)/4, $0x0f0f0f0f
GLOBL lower<>(SB), RODATA|NOPTR, $4

DATA sign<>+0(SB)/4, $0x80808080
GLOBL sign<>(SB), RODATA|NOPTR, $4

// The upper half of a register holds the outputs of the upper nibbles.
DATA shifts<>+0(SB)/8, $0
DATA shifts<>+8(SB)/8, $0
DATA shifts<>+16(SB)/8, $0
DATA shifts<>+24(SB)/8, $0
DATA shifts<>+32(SB)/8, $4
DATA shifts<>+40(SB)/8, $4
DATA shifts<>+48(SB)/8, $4
DATA shifts<>+56(SB)/8, $4
GLOBL shifts<>(SB), RODATA|NOPTR, $64

#define ARGUMENTS \
	MOVQ dst+0(FP), DI          \
	MOVQ stride+8(FP), R13      \
	MOVQ codes+16(FP), SI       \
	MOVQ codeStride+24(FP), R9  \
	MOVQ meta+32(FP), BX        \
	MOVQ metaStride+40(FP), R11 \
	MOVQ panel+48(FP), DX       \
	MOVQ blocks+56(FP), CX      \
	LEAQ (R9)(R9*2), R10        \
	LEAQ (R11)(R11*2), R12      \
	LEAQ (SI)(R9*4), R8         \
	LEAQ (BX)(R11*4), R15

#define NEXT(unit) \
	ADDQ $unit, DX \
	ADDQ $32, SI   \
	ADDQ $32, R8   \
	ADDQ $16, BX   \
	ADDQ $16, R15  \
	DECQ CX

// ROWS1 and ROWS8 do the same for all rows: with the row's codes, at an offset, and sum.
#define ROWS1(do, at) \
	do(at(SI), Z0)

#define ROWS8(do, at) \
	ROWS1(do, at)          \
	do(at(SI)(R9*1), Z1)   \
	do(at(SI)(R9*2), Z2)   \
	do(at(SI)(R10*1), Z3)  \
	do(at(R8), Z4)         \
	do(at(R8)(R9*1), Z5)   \
	do(at(R8)(R9*2), Z6)   \
	do(at(R8)(R10*1), Z7)

// METAS1 and METAS8: with the row's meta, sum and output.
#define METAS1(do) \
	do((BX), 4(BX), 8(BX), 12(BX), Z0, Z8)

#define METAS8(do) \
	METAS1(do)                                                                        \
	do((BX)(R11*1), 4(BX)(R11*1), 8(BX)(R11*1), 12(BX)(R11*1), Z1, Z9)     \
	do((BX)(R11*2), 4(BX)(R11*2), 8(BX)(R11*2), 12(BX)(R11*2), Z2, Z10)    \
	do((BX)(R12*1), 4(BX)(R12*1), 8(BX)(R12*1), 12(BX)(R12*1), Z3, Z11)    \
	do((R15), 4(R15), 8(R15), 12(R15), Z4, Z12)                                  \
	do((R15)(R11*1), 4(R15)(R11*1), 8(R15)(R11*1), 12(R15)(R11*1), Z5, Z13) \
	do((R15)(R11*2), 4(R15)(R11*2), 8(R15)(R11*2), 12(R15)(R11*2), Z6, Z14) \
	do((R15)(R12*1), 4(R15)(R12*1), 8(R15)(R12*1), 12(R15)(R12*1), Z7, Z15)

#define PRODUCT(codes, sum) \
	VPDPBUSD.BCST codes, Z18, sum

#define NOTHING(scale, total, low, high, sum, out) \
	VPXORD sum, sum, sum

#define BEGIN(scale, total, low, high, sum, out) \
	VPXORD out, out, out

// ADD adds scale·sum and minimum·total to the output.
#define ADD(scale, total, low, high, sum, out) \
	VCVTDQ2PS sum, sum          \
	VMULPS.BCST scale, Z19, Z21 \
	VMULPS Z21, sum, sum        \
	VADDPS sum, out, out        \
	VMULPS.BCST total, Z20, Z21 \
	VADDPS Z21, out, out

// SCALE adds scale·sum to the output.
#define SCALE(scale, total, low, high, sum, out) \
	VCVTDQ2PS sum, sum          \
	VMULPS.BCST scale, Z19, Z21 \
	VMULPS Z21, sum, sum        \
	VADDPS sum, out, out

// Bytes meet activations with 128 added to them, because one side has to be unsigned:
// sums begin with −128 times the sum of the activations.
#define BOTH(scale, total, low, high, sum, out) \
	VPBROADCASTD low, Z21       \
	VPADDD.BCST high, Z21, Z21  \
	VPSLLD $7, Z21, Z21         \
	VPSUBD Z21, Z17, sum

#define LOW(scale, total, low, high, sum, out) \
	VPBROADCASTD low, Z21 \
	VPSLLD $7, Z21, Z21   \
	VPSUBD Z21, Z17, sum

#define HIGH(scale, total, low, high, sum, out) \
	VPBROADCASTD high, Z21 \
	VPSLLD $7, Z21, Z21    \
	VPSUBD Z21, Z17, sum

#define NIBBLES(rows, head, i) \
	VBROADCASTI64X4 (head+32*i)(DX), Z18 \
	VPSRLVQ Z17, Z18, Z18                \
	VPANDD Z16, Z18, Z18                 \
	rows(PRODUCT, (4*i))

#define NIBBLEBLOCK(rows, head) \
	NIBBLES(rows, head, 0) \
	NIBBLES(rows, head, 1) \
	NIBBLES(rows, head, 2) \
	NIBBLES(rows, head, 3) \
	NIBBLES(rows, head, 4) \
	NIBBLES(rows, head, 5) \
	NIBBLES(rows, head, 6) \
	NIBBLES(rows, head, 7)

#define BYTES(rows, head, i) \
	VPXORD (head+64*i)(DX), Z16, Z18 \
	rows(PRODUCT, (4*i))

#define BYTEHALF(rows, head, i) \
	BYTES(rows, head, i)     \
	BYTES(rows, head, (i+1)) \
	BYTES(rows, head, (i+2)) \
	BYTES(rows, head, (i+3))

#define NIBBLEKERNEL(rows, metas, head, unit, again) \
	VPBROADCASTD lower<>(SB), Z16 \
	VMOVDQU64 shifts<>(SB), Z17   \
	metas(BEGIN)                  \
again:                            \
	metas(NOTHING)                \
	NIBBLEBLOCK(rows, head)

#define STORE1 \
	VMOVUPS Z8, (DI) \
	VZEROUPPER

#define STORE8 \
	LEAQ (R13)(R13*2), AX     \
	VMOVUPS Z8, (DI)          \
	VMOVUPS Z9, (DI)(R13*1)   \
	VMOVUPS Z10, (DI)(R13*2)  \
	VMOVUPS Z11, (DI)(AX*1)   \
	LEAQ (DI)(R13*4), DI      \
	VMOVUPS Z12, (DI)         \
	VMOVUPS Z13, (DI)(R13*1)  \
	VMOVUPS Z14, (DI)(R13*2)  \
	VMOVUPS Z15, (DI)(AX*1)   \
	VZEROUPPER

TEXT ·nibbles1x512(SB), NOSPLIT, $0-64
	ARGUMENTS
	NIBBLEKERNEL(ROWS1, METAS1, 64, 320, n1)
	VCVTPH2PS (DX), Z19
	VCVTPH2PS 32(DX), Z20
	METAS1(ADD)
	NEXT(320)
	JNZ n1
	STORE1
	RET

TEXT ·nibbles8x512(SB), NOSPLIT, $0-64
	ARGUMENTS
	NIBBLEKERNEL(ROWS8, METAS8, 64, 320, n8)
	VCVTPH2PS (DX), Z19
	VCVTPH2PS 32(DX), Z20
	METAS8(ADD)
	NEXT(320)
	JNZ n8
	STORE8
	RET

TEXT ·nibblesSingle1x512(SB), NOSPLIT, $0-64
	ARGUMENTS
	NIBBLEKERNEL(ROWS1, METAS1, 128, 384, s1)
	VMOVUPS (DX), Z19
	VMOVUPS 64(DX), Z20
	METAS1(ADD)
	NEXT(384)
	JNZ s1
	STORE1
	RET

TEXT ·nibblesSingle8x512(SB), NOSPLIT, $0-64
	ARGUMENTS
	NIBBLEKERNEL(ROWS8, METAS8, 128, 384, s8)
	VMOVUPS (DX), Z19
	VMOVUPS 64(DX), Z20
	METAS8(ADD)
	NEXT(384)
	JNZ s8
	STORE8
	RET

#define BYTEKERNEL(metas) \
	VPBROADCASTD sign<>(SB), Z16 \
	VPXORD Z17, Z17, Z17         \
	metas(BEGIN)

#define BYTEBLOCK(rows, metas) \
	metas(BOTH)           \
	BYTEHALF(rows, 32, 0) \
	BYTEHALF(rows, 32, 4) \
	VCVTPH2PS (DX), Z19   \
	metas(SCALE)

#define HALFBLOCK(rows, metas) \
	metas(LOW)             \
	BYTEHALF(rows, 128, 0) \
	VMOVUPS (DX), Z19      \
	metas(SCALE)           \
	metas(HIGH)            \
	BYTEHALF(rows, 128, 4) \
	VMOVUPS 64(DX), Z19    \
	metas(SCALE)

TEXT ·bytes1x512(SB), NOSPLIT, $0-64
	ARGUMENTS
	BYTEKERNEL(METAS1)
b1:
	BYTEBLOCK(ROWS1, METAS1)
	NEXT(544)
	JNZ b1
	STORE1
	RET

TEXT ·bytes8x512(SB), NOSPLIT, $0-64
	ARGUMENTS
	BYTEKERNEL(METAS8)
b8:
	BYTEBLOCK(ROWS8, METAS8)
	NEXT(544)
	JNZ b8
	STORE8
	RET

TEXT ·bytesHalves1x512(SB), NOSPLIT, $0-64
	ARGUMENTS
	BYTEKERNEL(METAS1)
h1:
	HALFBLOCK(ROWS1, METAS1)
	NEXT(640)
	JNZ h1
	STORE1
	RET

TEXT ·bytesHalves8x512(SB), NOSPLIT, $0-64
	ARGUMENTS
	BYTEKERNEL(METAS8)
h8:
	HALFBLOCK(ROWS8, METAS8)
	NEXT(640)
	JNZ h8
	STORE8
	RET
