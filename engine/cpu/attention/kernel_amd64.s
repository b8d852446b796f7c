#include "textflag.h"
#include "kernel_amd64.h"

// A name says what K or V are stored as, and how many rows the kernel takes.

#define LOAD SINGLES
#define SIZE 4
#define KSCALE NOSCALE
#define VSCALE NOSCALE

#define ROWS ROWS1
TEXT ·scoreSingles1(SB), NOSPLIT, $16-8
	SCORES(WRITE1)

TEXT ·mixSingles1(SB), NOSPLIT, $16-8
	MIX(READ1, WRITE1)
#undef ROWS

#define ROWS ROWS2
TEXT ·scoreSingles2(SB), NOSPLIT, $16-8
	SCORES(WRITE2)

TEXT ·mixSingles2(SB), NOSPLIT, $16-8
	MIX(READ2, WRITE2)
#undef ROWS

#define ROWS ROWS3
TEXT ·scoreSingles3(SB), NOSPLIT, $16-8
	SCORES(WRITE3)

TEXT ·mixSingles3(SB), NOSPLIT, $16-8
	MIX(READ3, WRITE3)
#undef ROWS

#define ROWS ROWS4
TEXT ·scoreSingles4(SB), NOSPLIT, $16-8
	SCORES(WRITE4)

TEXT ·mixSingles4(SB), NOSPLIT, $16-8
	MIX(READ4, WRITE4)
#undef ROWS

#undef LOAD
#undef SIZE
#undef KSCALE
#undef VSCALE

#define LOAD HALVES
#define SIZE 2
#define KSCALE NOSCALE
#define VSCALE NOSCALE

#define ROWS ROWS1
TEXT ·scoreHalves1(SB), NOSPLIT, $16-8
	SCORES(WRITE1)

TEXT ·mixHalves1(SB), NOSPLIT, $16-8
	MIX(READ1, WRITE1)
#undef ROWS

#define ROWS ROWS2
TEXT ·scoreHalves2(SB), NOSPLIT, $16-8
	SCORES(WRITE2)

TEXT ·mixHalves2(SB), NOSPLIT, $16-8
	MIX(READ2, WRITE2)
#undef ROWS

#define ROWS ROWS3
TEXT ·scoreHalves3(SB), NOSPLIT, $16-8
	SCORES(WRITE3)

TEXT ·mixHalves3(SB), NOSPLIT, $16-8
	MIX(READ3, WRITE3)
#undef ROWS

#define ROWS ROWS4
TEXT ·scoreHalves4(SB), NOSPLIT, $16-8
	SCORES(WRITE4)

TEXT ·mixHalves4(SB), NOSPLIT, $16-8
	MIX(READ4, WRITE4)
#undef ROWS

#undef LOAD
#undef SIZE
#undef KSCALE
#undef VSCALE

#define LOAD BRAINS
#define SIZE 2
#define KSCALE NOSCALE
#define VSCALE NOSCALE

#define ROWS ROWS1
TEXT ·scoreBrains1(SB), NOSPLIT, $16-8
	SCORES(WRITE1)

TEXT ·mixBrains1(SB), NOSPLIT, $16-8
	MIX(READ1, WRITE1)
#undef ROWS

#define ROWS ROWS2
TEXT ·scoreBrains2(SB), NOSPLIT, $16-8
	SCORES(WRITE2)

TEXT ·mixBrains2(SB), NOSPLIT, $16-8
	MIX(READ2, WRITE2)
#undef ROWS

#define ROWS ROWS3
TEXT ·scoreBrains3(SB), NOSPLIT, $16-8
	SCORES(WRITE3)

TEXT ·mixBrains3(SB), NOSPLIT, $16-8
	MIX(READ3, WRITE3)
#undef ROWS

#define ROWS ROWS4
TEXT ·scoreBrains4(SB), NOSPLIT, $16-8
	SCORES(WRITE4)

TEXT ·mixBrains4(SB), NOSPLIT, $16-8
	MIX(READ4, WRITE4)
#undef ROWS

#undef LOAD
#undef SIZE
#undef KSCALE
#undef VSCALE

#define LOAD BYTES
#define SIZE 1
#define KSCALE KSCALES
#define VSCALE VSCALES

#define ROWS ROWS1
TEXT ·scoreBytes1(SB), NOSPLIT, $16-8
	SCORES(WRITE1)

TEXT ·mixBytes1(SB), NOSPLIT, $16-8
	MIX(READ1, WRITE1)
#undef ROWS

#define ROWS ROWS2
TEXT ·scoreBytes2(SB), NOSPLIT, $16-8
	SCORES(WRITE2)

TEXT ·mixBytes2(SB), NOSPLIT, $16-8
	MIX(READ2, WRITE2)
#undef ROWS

#define ROWS ROWS3
TEXT ·scoreBytes3(SB), NOSPLIT, $16-8
	SCORES(WRITE3)

TEXT ·mixBytes3(SB), NOSPLIT, $16-8
	MIX(READ3, WRITE3)
#undef ROWS

#define ROWS ROWS4
TEXT ·scoreBytes4(SB), NOSPLIT, $16-8
	SCORES(WRITE4)

TEXT ·mixBytes4(SB), NOSPLIT, $16-8
	MIX(READ4, WRITE4)
#undef ROWS

#undef LOAD
#undef SIZE
#undef KSCALE
#undef VSCALE

#define LOAD EIGHTHS
#define SIZE 1
#define KSCALE KSCALES
#define VSCALE VSCALES

#define ROWS ROWS1
TEXT ·scoreEighths1(SB), NOSPLIT, $16-8
	SCORES(WRITE1)

TEXT ·mixEighths1(SB), NOSPLIT, $16-8
	MIX(READ1, WRITE1)
#undef ROWS

#define ROWS ROWS2
TEXT ·scoreEighths2(SB), NOSPLIT, $16-8
	SCORES(WRITE2)

TEXT ·mixEighths2(SB), NOSPLIT, $16-8
	MIX(READ2, WRITE2)
#undef ROWS

#define ROWS ROWS3
TEXT ·scoreEighths3(SB), NOSPLIT, $16-8
	SCORES(WRITE3)

TEXT ·mixEighths3(SB), NOSPLIT, $16-8
	MIX(READ3, WRITE3)
#undef ROWS

#define ROWS ROWS4
TEXT ·scoreEighths4(SB), NOSPLIT, $16-8
	SCORES(WRITE4)

TEXT ·mixEighths4(SB), NOSPLIT, $16-8
	MIX(READ4, WRITE4)
#undef ROWS

#undef LOAD
#undef SIZE
#undef KSCALE
#undef VSCALE
