#include "textflag.h"

DATA ones<>+0(SB)/4, $0x00010001
GLOBL ones<>(SB), RODATA|NOPTR, $4

DATA bytes<>+0(SB)/4, $0x01010101
GLOBL bytes<>(SB), RODATA|NOPTR, $4

DATA absolute<>+0(SB)/4, $0x7fffffff
GLOBL absolute<>(SB), RODATA|NOPTR, $4

DATA codes<>+0(SB)/4, $127.0
GLOBL codes<>(SB), RODATA|NOPTR, $4

DATA tiny<>+0(SB)/4, $0x0da24260 // 1e-30
GLOBL tiny<>(SB), RODATA|NOPTR, $4

DATA order<>+0(SB)/4, $0
DATA order<>+4(SB)/4, $4
DATA order<>+8(SB)/4, $1
DATA order<>+12(SB)/4, $5
DATA order<>+16(SB)/4, $2
DATA order<>+20(SB)/4, $6
DATA order<>+24(SB)/4, $3
DATA order<>+28(SB)/4, $7
GLOBL order<>(SB), RODATA|NOPTR, $32

// func quantizeVector(codes *int8, meta *Meta, x *float32, blocks int)
// Y0–Y3: a block. Packing words and bytes works within halves of registers; order
// puts the groups of four codes right again.
TEXT ·quantizeVector(SB), NOSPLIT, $0-32
	MOVQ codes+0(FP), DI
	MOVQ meta+8(FP), BX
	MOVQ x+16(FP), SI
	MOVQ blocks+24(FP), CX
	VBROADCASTSS absolute<>(SB), Y15
	VBROADCASTSS codes<>(SB), Y14
	VPBROADCASTD bytes<>(SB), Y13
	VPBROADCASTD ones<>(SB), Y12
	VMOVDQU order<>(SB), Y11
	VMOVSS tiny<>(SB), X10
block:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	VANDPS Y15, Y0, Y4
	VANDPS Y15, Y1, Y5
	VANDPS Y15, Y2, Y6
	VANDPS Y15, Y3, Y7
	VMAXPS Y5, Y4, Y4
	VMAXPS Y7, Y6, Y6
	VMAXPS Y6, Y4, Y4
	VEXTRACTF128 $1, Y4, X5
	VMAXPS X5, X4, X4
	VPERMILPS $0x4e, X4, X5
	VMAXPS X5, X4, X4
	VPERMILPS $0xb1, X4, X5
	VMAXPS X5, X4, X4
	VUCOMISS X10, X4
	JCS zero
	VDIVSS X4, X14, X5       // 127/top
	VDIVSS X14, X4, X6       // top/127
	VBROADCASTSS X5, Y5
	VMULPS Y5, Y0, Y0
	VMULPS Y5, Y1, Y1
	VMULPS Y5, Y2, Y2
	VMULPS Y5, Y3, Y3
	VCVTPS2DQ Y0, Y0         // to nearest, half to even
	VCVTPS2DQ Y1, Y1
	VCVTPS2DQ Y2, Y2
	VCVTPS2DQ Y3, Y3
	VPACKSSDW Y1, Y0, Y0
	VPACKSSDW Y3, Y2, Y2
	VPACKSSWB Y2, Y0, Y0
	VPERMD Y0, Y11, Y0
	VMOVDQU Y0, (DI)
	VPMADDUBSW Y0, Y13, Y1   // sum of the codes
	VPMADDWD Y12, Y1, Y1
	VPSHUFD $0x4e, Y1, Y2
	VPADDD Y2, Y1, Y1
	VPSHUFD $0xb1, Y1, Y2
	VPADDD Y2, Y1, Y1
	VEXTRACTI128 $1, Y1, X2
	VMOVD X1, 8(BX)
	VMOVD X2, 12(BX)
	VPADDD X2, X1, X1
	VCVTDQ2PS X1, X1
	VMULSS X1, X6, X1
	VMOVSS X6, (BX)
	VMOVSS X1, 4(BX)
next:
	ADDQ $128, SI
	ADDQ $32, DI
	ADDQ $16, BX
	DECQ CX
	JNZ block
	VZEROUPPER
	RET
zero:
	VPXOR Y0, Y0, Y0
	VMOVDQU Y0, (DI)
	VMOVDQU X0, (BX)
	JMP next
