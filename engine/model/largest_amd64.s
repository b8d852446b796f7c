#include "textflag.h"

// func maxVector(x *float32, n int) float32
//
// VMAXPS gives its second source where one of both is NaN: that is the maximum so
// far.
TEXT ·maxVector(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL $0xff800000, AX          // −Inf
	MOVQ AX, X0
	VBROADCASTSS X0, Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
maxNext:
	VMOVUPS (SI), Y4
	VMOVUPS 32(SI), Y5
	VMOVUPS 64(SI), Y6
	VMOVUPS 96(SI), Y7
	VMAXPS Y0, Y4, Y0
	VMAXPS Y1, Y5, Y1
	VMAXPS Y2, Y6, Y2
	VMAXPS Y3, Y7, Y3
	ADDQ $128, SI
	SUBQ $32, CX
	JNZ maxNext
	VMAXPS Y1, Y0, Y0
	VMAXPS Y3, Y2, Y2
	VMAXPS Y2, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0x4e, X0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0xb1, X0, X1
	VMAXPS X1, X0, X0
	VMOVSS X0, ret+16(FP)
	VZEROUPPER
	RET

// func findVector(x *float32, n int, value float32) int
TEXT ·findVector(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VBROADCASTSS value+16(FP), Y0
	XORQ AX, AX
findNext:
	VCMPPS $0, (SI), Y0, Y1       // equal
	VCMPPS $0, 32(SI), Y0, Y2
	VCMPPS $0, 64(SI), Y0, Y3
	VCMPPS $0, 96(SI), Y0, Y4
	VORPS Y1, Y2, Y5
	VORPS Y3, Y4, Y6
	VORPS Y5, Y6, Y5
	VMOVMSKPS Y5, BX
	TESTL BX, BX
	JNZ found
	ADDQ $128, SI
	ADDQ $32, AX
	CMPQ AX, CX
	JNE findNext
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET
found:
	VMOVMSKPS Y1, R8              // 32 bits, in the order of the values
	VMOVMSKPS Y2, R9
	VMOVMSKPS Y3, R10
	VMOVMSKPS Y4, R11
	SHLQ $8, R9
	SHLQ $16, R10
	SHLQ $24, R11
	ORQ R9, R8
	ORQ R10, R8
	ORQ R11, R8
	BSFQ R8, R8
	ADDQ R8, AX
	VZEROUPPER
	MOVQ AX, ret+24(FP)
	RET

// func brokenVector(x *float32, n int) bool
TEXT ·brokenVector(SB), NOSPLIT, $0-17
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	MOVL $0x7f800000, AX          // +Inf
	MOVQ AX, X0
	VBROADCASTSS X0, Y0
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
brokenNext:
	VMOVUPS (SI), Y1
	VMOVUPS 32(SI), Y2
	VMOVUPS 64(SI), Y3
	VMOVUPS 96(SI), Y4
	VCMPPS $5, Y0, Y1, Y1         // not less than +Inf, or NaN
	VCMPPS $5, Y0, Y2, Y2
	VCMPPS $5, Y0, Y3, Y3
	VCMPPS $5, Y0, Y4, Y4
	VORPS Y1, Y6, Y6
	VORPS Y2, Y7, Y7
	VORPS Y3, Y6, Y6
	VORPS Y4, Y7, Y7
	ADDQ $128, SI
	SUBQ $32, CX
	JNZ brokenNext
	VORPS Y6, Y7, Y7
	VMOVMSKPS Y7, AX
	VZEROUPPER
	TESTL AX, AX
	SETNE ret+16(FP)
	RET
