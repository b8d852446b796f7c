// Package vector is the arithmetic on rows of float32 that the CPU executor is made
// of, in plain Go and in the processor's vector instructions. The plain Go is the
// definition: every vector kernel gives the same bits. Each output is one sum in
// ascending order of its inputs, and each product is rounded before it is added;
// kernels gain their speed from computing many outputs at once, never from splitting
// a sum.
package vector
