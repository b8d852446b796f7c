package shape

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/profiles"
)

// DType is a number format of values that are not grouped: activations, the KV
// cache, unquantized weights.
type DType string

// The formats that a KV cache can be kept in.
const (
	BF16 DType = "bf16"
	FP16 DType = "fp16"
	FP32 DType = "fp32"
	FP8  DType = "fp8"

	// INT8 keeps a float32 scale per head and token, for K and for V.
	INT8 DType = "int8"
	// FP8PerHead is fp8 with such scales.
	FP8PerHead DType = "fp8-per-token-head"
	// NVFP4 keeps four bits per value and an fp8 scale per 16.
	NVFP4 DType = "nvfp4"
)

// dtypeNames are the names of KV dtypes, with those that engines give them.
var dtypeNames = map[string]DType{
	"bf16": BF16, "bfloat16": BF16, "fp16": FP16, "float16": FP16, "fp32": FP32, "float32": FP32,
	"fp8": FP8, "fp8_e4m3": FP8, "fp8_e5m2": FP8, "fp8_ds_mla": FP8,
	"int8": INT8, "int8_per_token_head": INT8, "fp8-per-token-head": FP8PerHead, "fp8_per_token_head": FP8PerHead,
	"nvfp4": NVFP4, "fp4": NVFP4,
}

// Bytes is the size of one value, without scales; NVFP4 is not a whole number
// of bytes (see HeadBytes).
func (d DType) Bytes() int64 {
	switch d {
	case FP32:
		return 4
	case FP8, INT8, FP8PerHead:
		return 1
	}
	return 2
}

// HeadBytes is the size of one head's key or value of a width, with its scales:
// int8 and per-head fp8 a float32 (vLLM, int8_per_token_head), nvfp4 half a
// byte per value and a byte per 16 (vLLM, nvfp4 KV cache).
func (d DType) HeadBytes(width int64) int64 {
	switch d {
	case INT8, FP8PerHead:
		return width + 4
	case NVFP4:
		return (width+1)/2 + (width+15)/16
	}
	return width * d.Bytes()
}

// ParseDType reads the format of a KV cache: bf16, fp16, fp32, fp8, int8,
// fp8-per-token-head or nvfp4 (fp4).
func ParseDType(s string) (DType, error) {
	d, ok := dtypeNames[strings.ToLower(s)]
	if ok {
		return d, nil
	}
	known := []string{"bf16", "fp16", "fp32", "fp8", "int8", "fp8-per-token-head", "nvfp4"}
	hint := cmp.Or(profiles.DidYouMean(s, known), ", expected one of "+strings.Join(known, ", "))
	return "", fmt.Errorf("unknown KV dtype %q%s", s, hint)
}
