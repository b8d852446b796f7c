#include "textflag.h"

// The kernels below have the same arguments:
// (dst *float32, stride int, codes *int8, codeStride int, meta *Meta, metaStride int, panel *byte, blocks int)
// Strides are in bytes. Names say the layout and how many rows of activations there are.
// DI, SI and BX walk the outputs, codes and meta of the first row; those of the others
// are strides away: R13, R9 and R11, twice that, and AX, R10 and R12. DX walks the panel.

DATA mask<>+0(SB)/4, $0x0f0f0f0f
GLOBL mask<>(SB), RODATA|NOPTR, $4

DATA pairs<>+0(SB)/4, $0x00010001
GLOBL pairs<>(SB), RODATA|NOPTR, $4

#define ARGUMENTS \
	MOVQ dst+0(FP), DI         \
	MOVQ stride+8(FP), R13     \
	MOVQ codes+16(FP), SI      \
	MOVQ codeStride+24(FP), R9 \
	MOVQ meta+32(FP), BX       \
	MOVQ metaStride+40(FP), R11 \
	MOVQ panel+48(FP), DX      \
	MOVQ blocks+56(FP), CX     \
	LEAQ (R13)(R13*2), AX      \
	LEAQ (R9)(R9*2), R10       \
	LEAQ (R11)(R11*2), R12

#define CLEAR1 \
	VPXOR Y0, Y0, Y0 \
	VPXOR Y1, Y1, Y1

#define CLEAR4 \
	CLEAR1           \
	VPXOR Y2, Y2, Y2 \
	VPXOR Y3, Y3, Y3 \
	VPXOR Y4, Y4, Y4 \
	VPXOR Y5, Y5, Y5 \
	VPXOR Y6, Y6, Y6 \
	VPXOR Y7, Y7, Y7

// STORE1 and STORE4 write zeros to the outputs.
#define STORE1 \
	VMOVUPS Y0, (DI)   \
	VMOVUPS Y0, 32(DI)

#define STORE4 \
	STORE1                     \
	VMOVUPS Y0, (DI)(R13*1)    \
	VMOVUPS Y0, 32(DI)(R13*1)  \
	VMOVUPS Y0, (DI)(R13*2)    \
	VMOVUPS Y0, 32(DI)(R13*2)  \
	VMOVUPS Y0, (DI)(AX*1)     \
	VMOVUPS Y0, 32(DI)(AX*1)

// NEXT goes on to the next block.
#define NEXT(unit) \
	ADDQ $unit, DX \
	ADDQ $32, SI   \
	ADDQ $16, BX   \
	DECQ CX

// AHEAD fetches what comes some blocks later: the processor's own prefetching ends with
// every page.
#define AHEAD(fetch, distance) \
	fetch (distance)(DX)     \
	fetch (distance+64)(DX)  \
	fetch (distance+128)(DX) \
	fetch (distance+192)(DX) \
	fetch (distance+256)(DX) \
	fetch (distance+320)(DX)

// NEXT1 is NEXT with one row, which is done before memory has answered for a near block.
// Panels go by once, or a few times while the first-level cache has them: there is no use
// for them in the second.
#define NEXT1(unit) \
	AHEAD(PREFETCHNTA, 2048) \
	NEXT(unit)

// NEXT4 is NEXT with four rows, which may not be the last ones to read the panel.
#define NEXT4(unit) \
	AHEAD(PREFETCHT0, 1024) \
	NEXT(unit)

// Nibbles. Y15: mask; Y8, Y9: four codes of eight outputs each. Products of a block's
// eight groups fit into 16 bits together: 8·2·15·127 = 30480.

#define NIBBLES(at) \
	VMOVDQU at, Y8     \
	VPSRLW $4, Y8, Y9  \
	VPAND Y15, Y8, Y8  \
	VPAND Y15, Y9, Y9

#define NIBBLEROW(x, sum0, sum1) \
	VPBROADCASTD x, Y10       \
	VPMADDUBSW Y10, Y8, Y11   \
	VPMADDUBSW Y10, Y9, Y12   \
	VPADDW Y11, sum0, sum0    \
	VPADDW Y12, sum1, sum1

#define NIBBLEGROUP1(head, i) \
	NIBBLES((head+32*i)(DX))          \
	NIBBLEROW((4*i)(SI), Y0, Y1)

#define NIBBLEGROUP4(head, i) \
	NIBBLEGROUP1(head, i)               \
	NIBBLEROW((4*i)(SI)(R9*1), Y2, Y3)  \
	NIBBLEROW((4*i)(SI)(R9*2), Y4, Y5)  \
	NIBBLEROW((4*i)(SI)(R10*1), Y6, Y7)

#define NIBBLEBLOCK1(head) \
	NIBBLEGROUP1(head, 0) \
	NIBBLEGROUP1(head, 1) \
	NIBBLEGROUP1(head, 2) \
	NIBBLEGROUP1(head, 3) \
	NIBBLEGROUP1(head, 4) \
	NIBBLEGROUP1(head, 5) \
	NIBBLEGROUP1(head, 6) \
	NIBBLEGROUP1(head, 7)

#define NIBBLEBLOCK4(head) \
	NIBBLEGROUP4(head, 0) \
	NIBBLEGROUP4(head, 1) \
	NIBBLEGROUP4(head, 2) \
	NIBBLEGROUP4(head, 3) \
	NIBBLEGROUP4(head, 4) \
	NIBBLEGROUP4(head, 5) \
	NIBBLEGROUP4(head, 6) \
	NIBBLEGROUP4(head, 7)

#define WIDEN(sum0, sum1) \
	VPMADDWD Y14, sum0, sum0 \
	VPMADDWD Y14, sum1, sum1 \
	VCVTDQ2PS sum0, sum0     \
	VCVTDQ2PS sum1, sum1

#define WIDEN1 \
	VPBROADCASTD pairs<>(SB), Y14 \
	WIDEN(Y0, Y1)

#define WIDEN4 \
	WIDEN1        \
	WIDEN(Y2, Y3) \
	WIDEN(Y4, Y5) \
	WIDEN(Y6, Y7)

// ADDROW adds a block to a row's outputs: Y8, Y9: scales; Y10, Y11: minimums.
#define ADDROW(scale, sum, out0, out1, sum0, sum1) \
	VBROADCASTSS scale, Y12 \
	VBROADCASTSS sum, Y13   \
	VMULPS Y8, Y12, Y14     \
	VMULPS Y14, sum0, sum0  \
	VADDPS out0, sum0, sum0 \
	VMULPS Y9, Y12, Y14     \
	VMULPS Y14, sum1, sum1  \
	VADDPS out1, sum1, sum1 \
	VMULPS Y10, Y13, Y14    \
	VADDPS Y14, sum0, sum0  \
	VMULPS Y11, Y13, Y14    \
	VADDPS Y14, sum1, sum1  \
	VMOVUPS sum0, out0      \
	VMOVUPS sum1, out1

#define ADD1 \
	ADDROW((BX), 4(BX), (DI), 32(DI), Y0, Y1)

#define ADD4 \
	ADD1                                                                         \
	ADDROW((BX)(R11*1), 4(BX)(R11*1), (DI)(R13*1), 32(DI)(R13*1), Y2, Y3) \
	ADDROW((BX)(R11*2), 4(BX)(R11*2), (DI)(R13*2), 32(DI)(R13*2), Y4, Y5) \
	ADDROW((BX)(R12*1), 4(BX)(R12*1), (DI)(AX*1), 32(DI)(AX*1), Y6, Y7)

#define HALVES \
	VCVTPH2PS (DX), Y8    \
	VCVTPH2PS 16(DX), Y9  \
	VCVTPH2PS 32(DX), Y10 \
	VCVTPH2PS 48(DX), Y11

#define SINGLES \
	VMOVUPS (DX), Y8    \
	VMOVUPS 32(DX), Y9  \
	VMOVUPS 64(DX), Y10 \
	VMOVUPS 96(DX), Y11

TEXT ·nibbles1(SB), NOSPLIT, $0-64
	ARGUMENTS
	VPBROADCASTD mask<>(SB), Y15
	CLEAR1
	STORE1
n1:
	CLEAR1
	NIBBLEBLOCK1(64)
	WIDEN1
	HALVES
	ADD1
	NEXT1(320)
	JNZ n1
	VZEROUPPER
	RET

TEXT ·nibbles4(SB), NOSPLIT, $0-64
	ARGUMENTS
	VPBROADCASTD mask<>(SB), Y15
	CLEAR1
	STORE4
n4:
	CLEAR4
	NIBBLEBLOCK4(64)
	WIDEN4
	HALVES
	ADD4
	NEXT4(320)
	JNZ n4
	VZEROUPPER
	RET

TEXT ·nibblesSingle1(SB), NOSPLIT, $0-64
	ARGUMENTS
	VPBROADCASTD mask<>(SB), Y15
	CLEAR1
	STORE1
s1:
	CLEAR1
	NIBBLEBLOCK1(128)
	WIDEN1
	SINGLES
	ADD1
	NEXT1(384)
	JNZ s1
	VZEROUPPER
	RET

TEXT ·nibblesSingle4(SB), NOSPLIT, $0-64
	ARGUMENTS
	VPBROADCASTD mask<>(SB), Y15
	CLEAR1
	STORE4
s4:
	CLEAR4
	NIBBLEBLOCK4(128)
	WIDEN4
	SINGLES
	ADD4
	NEXT4(384)
	JNZ s4
	VZEROUPPER
	RET

// Bytes. Y15: pairs; Y8: four codes of eight outputs; Y9: their absolute values, which
// meet activations with the codes' signs. A pair of products fits into 16 bits:
// 2·128·127 = 32512.

#define BYTES(at) \
	VMOVDQU at, Y8 \
	VPABSB Y8, Y9

#define BYTEROW(x, t, sum) \
	VPBROADCASTD x, t    \
	VPSIGNB Y8, t, t     \
	VPMADDUBSW t, Y9, t  \
	VPMADDWD Y15, t, t   \
	VPADDD t, sum, sum

#define BYTEGROUP1(head, i) \
	BYTES((head+64*i)(DX))             \
	BYTEROW((4*i)(SI), Y10, Y0)        \
	BYTES((head+64*i+32)(DX))          \
	BYTEROW((4*i)(SI), Y11, Y1)

#define BYTEGROUP4(head, i) \
	BYTES((head+64*i)(DX))             \
	BYTEROW((4*i)(SI), Y10, Y0)        \
	BYTEROW((4*i)(SI)(R9*1), Y11, Y2)  \
	BYTEROW((4*i)(SI)(R9*2), Y12, Y4)  \
	BYTEROW((4*i)(SI)(R10*1), Y13, Y6) \
	BYTES((head+64*i+32)(DX))          \
	BYTEROW((4*i)(SI), Y10, Y1)        \
	BYTEROW((4*i)(SI)(R9*1), Y11, Y3)  \
	BYTEROW((4*i)(SI)(R9*2), Y12, Y5)  \
	BYTEROW((4*i)(SI)(R10*1), Y13, Y7)

#define BYTEHALF1(head, i) \
	BYTEGROUP1(head, i)     \
	BYTEGROUP1(head, (i+1)) \
	BYTEGROUP1(head, (i+2)) \
	BYTEGROUP1(head, (i+3))

#define BYTEHALF4(head, i) \
	BYTEGROUP4(head, i)     \
	BYTEGROUP4(head, (i+1)) \
	BYTEGROUP4(head, (i+2)) \
	BYTEGROUP4(head, (i+3))

// SCALEROW adds a block without minimums to a row's outputs: Y8, Y9: scales.
#define SCALEROW(scale, out0, out1, sum0, sum1) \
	VBROADCASTSS scale, Y12 \
	VCVTDQ2PS sum0, sum0    \
	VCVTDQ2PS sum1, sum1    \
	VMULPS Y8, Y12, Y13     \
	VMULPS Y9, Y12, Y14     \
	VMULPS Y13, sum0, sum0  \
	VMULPS Y14, sum1, sum1  \
	VADDPS out0, sum0, sum0 \
	VADDPS out1, sum1, sum1 \
	VMOVUPS sum0, out0      \
	VMOVUPS sum1, out1

#define SCALE1 \
	SCALEROW((BX), (DI), 32(DI), Y0, Y1)

#define SCALE4 \
	SCALE1                                                        \
	SCALEROW((BX)(R11*1), (DI)(R13*1), 32(DI)(R13*1), Y2, Y3) \
	SCALEROW((BX)(R11*2), (DI)(R13*2), 32(DI)(R13*2), Y4, Y5) \
	SCALEROW((BX)(R12*1), (DI)(AX*1), 32(DI)(AX*1), Y6, Y7)

TEXT ·bytes1(SB), NOSPLIT, $0-64
	ARGUMENTS
	VPBROADCASTD pairs<>(SB), Y15
	CLEAR1
	STORE1
b1:
	CLEAR1
	BYTEHALF1(32, 0)
	BYTEHALF1(32, 4)
	VCVTPH2PS (DX), Y8
	VCVTPH2PS 16(DX), Y9
	SCALE1
	NEXT1(544)
	JNZ b1
	VZEROUPPER
	RET

TEXT ·bytes4(SB), NOSPLIT, $0-64
	ARGUMENTS
	VPBROADCASTD pairs<>(SB), Y15
	CLEAR1
	STORE4
b4:
	CLEAR4
	BYTEHALF4(32, 0)
	BYTEHALF4(32, 4)
	VCVTPH2PS (DX), Y8
	VCVTPH2PS 16(DX), Y9
	SCALE4
	NEXT4(544)
	JNZ b4
	VZEROUPPER
	RET

TEXT ·bytesHalves1(SB), NOSPLIT, $0-64
	ARGUMENTS
	VPBROADCASTD pairs<>(SB), Y15
	CLEAR1
	STORE1
h1:
	CLEAR1
	BYTEHALF1(128, 0)
	VMOVUPS (DX), Y8
	VMOVUPS 32(DX), Y9
	SCALE1
	CLEAR1
	BYTEHALF1(128, 4)
	VMOVUPS 64(DX), Y8
	VMOVUPS 96(DX), Y9
	SCALE1
	NEXT1(640)
	JNZ h1
	VZEROUPPER
	RET

TEXT ·bytesHalves4(SB), NOSPLIT, $0-64
	ARGUMENTS
	VPBROADCASTD pairs<>(SB), Y15
	CLEAR1
	STORE4
h4:
	CLEAR4
	BYTEHALF4(128, 0)
	VMOVUPS (DX), Y8
	VMOVUPS 32(DX), Y9
	SCALE4
	CLEAR4
	BYTEHALF4(128, 4)
	VMOVUPS 64(DX), Y8
	VMOVUPS 96(DX), Y9
	SCALE4
	NEXT4(640)
	JNZ h4
	VZEROUPPER
	RET
