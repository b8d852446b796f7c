// Package matrix multiplies activations by stored weights.
//
// Weights are packed into panels of 16 outputs, so that one vector register holds the
// same inputs of many outputs. Plain numbers (F32, F16, BF16, F8_E4M3) meet activations
// in float32. Block formats meet activations that are quantized to eight bits in blocks
// of 32, as in ggml: sums of products within a block are exact integers, and what a
// block contributes is added to the output in ascending order of blocks. So an output
// is the same to the bit whatever else is computed with it, and on every machine: the
// functions in plain.go are the definition, and the vector kernels are equal to them.
package matrix
