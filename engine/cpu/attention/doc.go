// Package attention is the paged KV memory of the CPU executor and the attention that
// reads it. K and V are reached only through block tables, in order of position, so
// that where the blocks lie cannot change a sum.
package attention
