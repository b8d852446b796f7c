// What the kernels of kernel_amd64.s are made of. Their only argument is a *work, in
// R14; its fields:
#define DST 0        // of row 0, as bytes: of the first position, or of element 0
#define DSTSTRIDE 8  // bytes
#define A 16         // of row 0: query, or weights
#define ASTRIDE 24   // bytes
#define BASE 32      // K or V of the KV head in block 0
#define TABLE 40
#define BLOCKS 48
#define BLOCKBYTES 56
#define ROWBYTES 64  // from one element of the head to the next (K), or position (V)
#define N 72         // elements of the head (K), or positions of each block (V)
#define COLUMNS 80   // of 16 positions (K), or elements (V)
#define SCALES 88    // from the block's beginning, or V's first position, to the scales
#define LAST 104     // entry of the table that may be looked at
#define SKIP 96      // what the destination goes back behind a block's last column

// Loads 16 elements at DX, as float32 in Y8 and Y9. Y13 and Y14 are scales, Y15 the bits
// of a half that an FP8 has.

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

#define BYTES \
	VPMOVSXBD (DX), Y8  \
	VPMOVSXBD 8(DX), Y9 \
	VCVTDQ2PS Y8, Y8    \
	VCVTDQ2PS Y9, Y9    \
	VMULPS Y13, Y8, Y8  \
	VMULPS Y14, Y9, Y9

// The sign is extended into the half's two highest bits, of which the lower one is then
// cleared: it belongs to the exponent.
#define EIGHTHS \
	VPMOVSXBW (DX), Y8       \
	VPSLLW $7, Y8, Y8        \
	VPAND Y15, Y8, Y8        \
	VEXTRACTI128 $1, Y8, X9  \
	VCVTPH2PS X8, Y8         \
	VCVTPH2PS X9, Y9         \
	VMULPS Y13, Y8, Y8       \
	VMULPS Y14, Y9, Y9

// 0xbfff in each word of Y15.
#define MASK \
	VPCMPEQW Y15, Y15, Y15 \
	VPSLLW $15, Y15, Y14   \
	VPSRLW $2, Y15, Y15    \
	VPOR Y14, Y15, Y15

// ROW adds to the 16 sums of a row: each product is rounded before it is added.
#define ROW(p, low, high) \
	VBROADCASTSS (p)(R11*4), Y10 \
	VMULPS Y8, Y10, Y11          \
	VMULPS Y9, Y10, Y12          \
	VADDPS Y11, low, low         \
	VADDPS Y12, high, high

#define ROWS1 ROW(SI, Y0, Y1)
#define ROWS2 \
	ROWS1           \
	ROW(R8, Y2, Y3)
#define ROWS3 \
	ROWS2           \
	ROW(R9, Y4, Y5)
#define ROWS4 \
	ROWS3            \
	ROW(R10, Y6, Y7)

#define CLEAR \
	VXORPS Y0, Y0, Y0 \
	VXORPS Y1, Y1, Y1 \
	VXORPS Y2, Y2, Y2 \
	VXORPS Y3, Y3, Y3 \
	VXORPS Y4, Y4, Y4 \
	VXORPS Y5, Y5, Y5 \
	VXORPS Y6, Y6, Y6 \
	VXORPS Y7, Y7, Y7

// READ and WRITE move the sums of as many rows as they say; DX and R11 are used.
#define READ1 \
	VMOVUPS (DI), Y0   \
	VMOVUPS 32(DI), Y1
#define READ2 \
	READ1                      \
	MOVQ DSTSTRIDE(R14), DX    \
	VMOVUPS (DI)(DX*1), Y2     \
	VMOVUPS 32(DI)(DX*1), Y3
#define READ3 \
	READ2                      \
	VMOVUPS (DI)(DX*2), Y4     \
	VMOVUPS 32(DI)(DX*2), Y5
#define READ4 \
	READ3                      \
	LEAQ (DI)(DX*2), R11       \
	VMOVUPS (R11)(DX*1), Y6    \
	VMOVUPS 32(R11)(DX*1), Y7

#define WRITE1 \
	VMOVUPS Y0, (DI)   \
	VMOVUPS Y1, 32(DI)
#define WRITE2 \
	WRITE1                     \
	MOVQ DSTSTRIDE(R14), DX    \
	VMOVUPS Y2, (DI)(DX*1)     \
	VMOVUPS Y3, 32(DI)(DX*1)
#define WRITE3 \
	WRITE2                     \
	VMOVUPS Y4, (DI)(DX*2)     \
	VMOVUPS Y5, 32(DI)(DX*2)
#define WRITE4 \
	WRITE3                     \
	LEAQ (DI)(DX*2), R11       \
	VMOVUPS Y6, (R11)(DX*1)    \
	VMOVUPS Y7, 32(R11)(DX*1)

// BEGIN sets the registers that stay: R14 the work, DI the destination, SI, R8, R9, R10
// the rows of a, BX the bytes from row to row of K or V.
#define BEGIN \
	MOVQ w+0(FP), R14       \
	MOVQ DST(R14), DI       \
	MOVQ A(R14), SI         \
	MOVQ ASTRIDE(R14), R12  \
	LEAQ (SI)(R12*1), R8    \
	LEAQ (SI)(R12*2), R9    \
	LEAQ (R8)(R12*2), R10   \
	MOVQ ROWBYTES(R14), BX  \
	MASK

// AHEAD leaves in R14 how far the next block of the table is from the one at base: what
// it holds is fetched meanwhile.
#define AHEAD(base) \
	LEAQ 4(AX), R14              \
	CMPQ R14, R11                \
	CMOVQHI R11, R14             \
	MOVLQSX (R14), R14           \
	MOVQ w+0(FP), R11            \
	IMULQ BLOCKBYTES(R11), R14   \
	ADDQ BASE(R11), R14          \
	SUBQ base, R14

// SCORES is the body of a kernel on K. AX walks the table, R13 counts blocks, R15 walks
// the columns of a block, R12 their scales, R11 the head's elements.
#define SCORES(write) \
	BEGIN                        \
	MOVQ N(R14), CX              \
	MOVQ TABLE(R14), AX          \
	MOVQ BLOCKS(R14), R13        \
block:                           \
	MOVLQSX (AX), R15            \
	IMULQ BLOCKBYTES(R14), R15   \
	ADDQ BASE(R14), R15          \
	MOVQ SCALES(R14), R12        \
	ADDQ R15, R12                \
	MOVQ COLUMNS(R14), DX        \
	MOVQ DX, columns-8(SP)       \
	MOVQ LAST(R14), R11          \
	AHEAD(R15)                   \
	MOVQ R14, ahead-16(SP)       \
column:                          \
	CLEAR                        \
	KSCALE                       \
	MOVQ ahead-16(SP), R14       \
	MOVQ R15, DX                 \
	XORQ R11, R11                \
next:                            \
	PREFETCHT0 (DX)(R14*1)       \
	LOAD                         \
	ROWS                         \
	ADDQ BX, DX                  \
	INCQ R11                     \
	CMPQ R11, CX                 \
	JLT next                     \
	MOVQ w+0(FP), R14            \
	write                        \
	ADDQ $(16*SIZE), R15         \
	ADDQ $64, R12                \
	ADDQ $64, DI                 \
	DECQ columns-8(SP)           \
	JNZ column                   \
	ADDQ SKIP(R14), DI           \
	ADDQ $4, AX                  \
	DECQ R13                     \
	JNZ block                    \
	VZEROUPPER                   \
	RET

// MIX is the body of a kernel on V. R15 is the bytes of the columns before, AX walks
// the table, R13 counts blocks, R12 walks scales, R11 counts positions up to CX.
#define MIX(read, write) \
	BEGIN                        \
	XORQ R15, R15                \
	MOVQ COLUMNS(R14), DX        \
	MOVQ DX, columns-8(SP)       \
column:                          \
	read                         \
	MOVQ TABLE(R14), AX          \
	MOVQ BLOCKS(R14), R13        \
	XORQ R11, R11                \
block:                           \
	MOVLQSX (AX), DX             \
	IMULQ BLOCKBYTES(R14), DX    \
	ADDQ BASE(R14), DX           \
	MOVQ SCALES(R14), R12        \
	ADDQ DX, R12                 \
	MOVQ N(R14), CX              \
	ADDQ R11, CX                 \
	MOVQ R11, position-16(SP)    \
	MOVQ LAST(R14), R11          \
	AHEAD(DX)                    \
	MOVQ position-16(SP), R11    \
	ADDQ R15, DX                 \
next:                            \
	PREFETCHT0 (DX)(R14*1)       \
	VSCALE                       \
	LOAD                         \
	ROWS                         \
	ADDQ BX, DX                  \
	INCQ R11                     \
	CMPQ R11, CX                 \
	JLT next                     \
	MOVQ w+0(FP), R14            \
	ADDQ $4, AX                  \
	DECQ R13                     \
	JNZ block                    \
	write                        \
	ADDQ $64, DI                 \
	ADDQ $(16*SIZE), R15         \
	DECQ columns-8(SP)           \
	JNZ column                   \
	VZEROUPPER                   \
	RET

#define NOSCALE ;

#define KSCALES \
	VMOVUPS (R12), Y13   \
	VMOVUPS 32(R12), Y14

#define VSCALES \
	VBROADCASTSS (R12), Y13 \
	VMOVAPS Y13, Y14        \
	ADDQ $4, R12

// WIDEN is the body of a kernel that stores elements as float32: DX and DI walk a row,
// AX and R13 the rows, R12 scales. At the beginning of a row, and of a column, are what
// loads their scales.
#define WIDEN(row, column) \
	MOVQ dst+0(FP), R13          \
	MOVQ src+8(FP), AX           \
	MOVQ scales+16(FP), R12      \
	MOVQ rows+24(FP), BX         \
	MOVQ n+32(FP), R8            \
	MASK                         \
rows:                            \
	row                          \
	MOVQ AX, DX                  \
	MOVQ R13, DI                 \
	MOVQ R8, CX                  \
columns:                         \
	column                       \
	LOAD                         \
	VMOVUPS Y8, (DI)             \
	VMOVUPS Y9, 32(DI)           \
	ADDQ $(16*SIZE), DX          \
	ADDQ $64, DI                 \
	SUBQ $16, CX                 \
	JG columns                   \
	LEAQ (AX)(R8*SIZE), AX       \
	LEAQ (R13)(R8*4), R13        \
	DECQ BX                      \
	JNZ rows                     \
	VZEROUPPER                   \
	RET

#define FIRSTSCALES \
	MOVQ R12, R9

#define NEXTSCALES \
	VMOVUPS (R9), Y13    \
	VMOVUPS 32(R9), Y14  \
	ADDQ $64, R9
