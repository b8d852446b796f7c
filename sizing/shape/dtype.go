package shape

import (
	"cmp"
	"fmt"
	"slices"
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
)

// Bytes is the size of one value.
func (d DType) Bytes() int64 {
	switch d {
	case FP32:
		return 4
	case FP8:
		return 1
	}
	return 2
}

// ParseDType reads the format of a KV cache.
func ParseDType(s string) (DType, error) {
	known := []string{"bf16", "fp16", "fp32", "fp8"}
	name := strings.ToLower(s)
	if name == "fp8_e4m3" || name == "fp8_e5m2" {
		name = "fp8"
	}
	if !slices.Contains(known, name) {
		hint := cmp.Or(profiles.DidYouMean(s, known), ", expected one of "+strings.Join(known, ", "))
		return "", fmt.Errorf("unknown KV dtype %q%s", s, hint)
	}
	return DType(name), nil
}
