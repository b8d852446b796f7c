#include "textflag.h"
#include "kernel_amd64.h"

// The kernels have the arguments (dst *float32, src, scales *byte, rows, n int).

#define LOAD HALVES
#define SIZE 2

TEXT ·widenHalves(SB), NOSPLIT, $0-40
	WIDEN(NOSCALE, NOSCALE)

#undef LOAD
#undef SIZE

#define LOAD BRAINS
#define SIZE 2

TEXT ·widenBrains(SB), NOSPLIT, $0-40
	WIDEN(NOSCALE, NOSCALE)

#undef LOAD
#undef SIZE

#define LOAD BYTES
#define SIZE 1

TEXT ·widenBytesKeys(SB), NOSPLIT, $0-40
	WIDEN(FIRSTSCALES, NEXTSCALES)

TEXT ·widenBytesValues(SB), NOSPLIT, $0-40
	WIDEN(VSCALES, NOSCALE)

#undef LOAD
#undef SIZE

#define LOAD EIGHTHS
#define SIZE 1

TEXT ·widenEighthsKeys(SB), NOSPLIT, $0-40
	WIDEN(FIRSTSCALES, NEXTSCALES)

TEXT ·widenEighthsValues(SB), NOSPLIT, $0-40
	WIDEN(VSCALES, NOSCALE)

#undef LOAD
#undef SIZE
