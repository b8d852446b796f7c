#include "textflag.h"
#include "exp_amd64.h"

// func expVector(dst, x *float32, n int, top, scale float32, table *[15][8]float32)
TEXT ·expVector(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS top+24(FP), Y14
	VBROADCASTSS scale+28(FP), Y15
	MOVQ table+32(FP), R8
eight:
	VMOVUPS (SI), Y0
	VSUBPS Y14, Y0, Y0
	VMULPS Y15, Y0, Y0
	EXP
	VMOVUPS Y3, (DI)
	ADDQ $32, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ eight
	VZEROUPPER
	RET

// func gateVector(dst, gate, up *float32, n int, linear, cubic float32, table *[15][8]float32)
// Y7: gate, Y8: the exponent, Y9: where it is above expHighest.
TEXT ·gateVector(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ gate+8(FP), SI
	MOVQ up+16(FP), DX
	MOVQ n+24(FP), CX
	VBROADCASTSS linear+32(FP), Y14
	VBROADCASTSS cubic+36(FP), Y15
	MOVQ table+40(FP), R8
	VXORPS Y13, Y13, Y13
next:
	VMOVUPS (SI), Y7
	VMULPS Y7, Y7, Y0
	VMINPS 448(R8), Y0, Y0
	VMULPS Y15, Y0, Y0
	VADDPS Y14, Y0, Y0
	VMULPS Y7, Y0, Y8             // −z
	VCMPPS $0x1e, 384(R8), Y8, Y9 // all ones where −z > expHighest
	VMINPS 384(R8), Y8, Y0
	EXP
	VBLENDVPS Y9, 416(R8), Y3, Y3 // infinity there
	VADDPS 352(R8), Y3, Y3
	VDIVPS Y3, Y7, Y3
	VMULPS (DX), Y3, Y3
	VMOVUPS Y3, (DI)
	ADDQ $32, SI
	ADDQ $32, DX
	ADDQ $32, DI
	SUBQ $8, CX
	JNZ next
	VZEROUPPER
	RET
