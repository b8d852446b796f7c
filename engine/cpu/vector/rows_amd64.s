#include "textflag.h"

// func addVector(dst, x *float32, n int)
TEXT ·addVector(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
add:
	VMOVUPS (DI), Y0
	VADDPS (SI), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ add
	VZEROUPPER
	RET

// func scaleVector(dst, x *float32, n int, factor float32)
TEXT ·scaleVector(SB), NOSPLIT, $0-28
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS factor+24(FP), Y1
scale:
	VMULPS (SI), Y1, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ scale
	VZEROUPPER
	RET

// func weighVector(dst, x, weight *float32, n int, factor float32)
TEXT ·weighVector(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ weight+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSS factor+32(FP), Y1
weigh:
	VMULPS (SI), Y1, Y0
	VMULPS (DX), Y0, Y0
	VMOVUPS Y0, (DI)
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ weigh
	VZEROUPPER
	RET

// func largestVector(x *float32, n int) float32
TEXT ·largestVector(SB), NOSPLIT, $0-20
	MOVQ x+0(FP), SI
	MOVQ n+8(FP), CX
	VMOVUPS (SI), Y0
	JMP check
largest:
	VMAXPS (SI), Y0, Y0
check:
	ADDQ $32, SI
	SUBQ $8, CX
	JNZ largest
	VEXTRACTF128 $1, Y0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0x4e, X0, X1
	VMAXPS X1, X0, X0
	VPERMILPS $0xb1, X0, X1
	VMAXPS X1, X0, X0
	VMOVSS X0, ret+16(FP)
	VZEROUPPER
	RET

// func rotateVector(low, high, cos, sin *float32, n int)
TEXT ·rotateVector(SB), NOSPLIT, $0-40
	MOVQ low+0(FP), DI
	MOVQ high+8(FP), SI
	MOVQ cos+16(FP), DX
	MOVQ sin+24(FP), BX
	MOVQ n+32(FP), CX
rotate:
	VMOVUPS (DI), Y0
	VMOVUPS (SI), Y1
	VMOVUPS (DX), Y2
	VMOVUPS (BX), Y3
	VMULPS Y0, Y2, Y4
	VMULPS Y1, Y3, Y5
	VSUBPS Y5, Y4, Y4
	VMULPS Y1, Y2, Y5
	VMULPS Y0, Y3, Y6
	VADDPS Y6, Y5, Y5
	VMOVUPS Y4, (DI)
	VMOVUPS Y5, (SI)
	ADDQ $32, DI
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, BX
	SUBQ $8, CX
	JNZ rotate
	VZEROUPPER
	RET
