package cost

import "github.com/llmctl/llmctl/profiles"

// Units are the matrix units that a product uses, by the type of its operands.
type Units int

const (
	Wide Units = iota // 16-bit floats
	FP8
	INT8
	FP4
)

// Rate is the dense rate of an accelerator's units in operations per second.
// Where it has none of a kind, weights of that format are widened to 16 bits and
// multiplied there (vLLM: the Marlin kernels), so that a device without fp4 units
// gains nothing from its fp8 units.
func Rate(a *profiles.Accelerator, u Units) float64 {
	own := 0.0
	switch u {
	case FP8:
		own = a.FP8FlopsPerS
	case INT8:
		own = a.INT8OpsPerS
	case FP4:
		own = a.FP4FlopsPerS
	}
	if own > 0 {
		return own
	}
	return a.BF16FlopsPerS
}

// AttentionRate is an accelerator's rate of attention, which is always in 16 bit.
func AttentionRate(a *profiles.Accelerator) float64 {
	if a.AttentionFlopsPerS > 0 {
		return a.AttentionFlopsPerS
	}
	return Rate(a, Wide)
}
