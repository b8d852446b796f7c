// Package cpu is the executor that runs the transformer on the CPU, reading and
// writing K and V only through block tables.
//
// Every token's arithmetic is the same to the bit whatever else is in the batch,
// however its prompt was cut into chunks, wherever its blocks lie, however many
// workers there are and which vector instructions the processor has: each output is
// one sum in ascending order of its inputs. Kernels (packages vector and matrix) gain
// their speed from computing many outputs at once, never from splitting a sum.
//
// A step is a row of phases. In each, work is cut into parts by tokens and by outputs,
// so that one token's work is shared by all workers too (package team).
package cpu
