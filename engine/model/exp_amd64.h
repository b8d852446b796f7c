// EXP leaves e^Y0 in Y3, as Exp computes it for arguments up to 88.72, with R8 at
// expTable. It uses Y0 to Y6. A higher argument up to 100 gives infinity or close to.
#define EXP \
	VCMPPS $0x1d, (R8), Y0, Y1 \ // all ones where x ≥ expLowest
	VMULPS 32(R8), Y0, Y2      \ // n = round(x·log2 e)
	VADDPS 64(R8), Y2, Y2      \
	VSUBPS 64(R8), Y2, Y2      \
	VMULPS 96(R8), Y2, Y3      \ // r = x − n·ln 2
	VSUBPS Y3, Y0, Y0          \
	VMULPS 128(R8), Y2, Y3     \
	VSUBPS Y3, Y0, Y0          \
	VMULPS 160(R8), Y0, Y3     \ // the polynomial
	VADDPS 192(R8), Y3, Y3     \
	VMULPS Y0, Y3, Y3          \
	VADDPS 224(R8), Y3, Y3     \
	VMULPS Y0, Y3, Y3          \
	VADDPS 256(R8), Y3, Y3     \
	VMULPS Y0, Y3, Y3          \
	VADDPS 288(R8), Y3, Y3     \
	VMULPS Y0, Y3, Y3          \
	VADDPS 320(R8), Y3, Y3     \
	VMULPS Y0, Y0, Y4          \
	VMULPS Y4, Y3, Y3          \
	VADDPS Y0, Y3, Y3          \
	VADDPS 352(R8), Y3, Y3     \
	VCVTTPS2DQ Y2, Y2          \ // half = n/2, towards zero
	VPSRLD $31, Y2, Y5         \
	VPADDD Y5, Y2, Y5          \
	VPSRAD $1, Y5, Y5          \
	VPSUBD Y5, Y2, Y6          \
	VPSLLD $23, Y5, Y5         \ // 2^half and 2^(n−half): exponent onto 1.0
	VPADDD 352(R8), Y5, Y5     \
	VPSLLD $23, Y6, Y6         \
	VPADDD 352(R8), Y6, Y6     \
	VMULPS Y5, Y3, Y3          \
	VMULPS Y6, Y3, Y3          \
	VANDPS Y1, Y3, Y3            // 0 below expLowest
