// Package cpu is the executor that runs the transformer on the CPU, reading and
// writing K and V only through block tables.
//
// Every token's arithmetic is the same to the bit whatever else is in the batch,
// however its prompt was cut into chunks, wherever its blocks lie, however many
// workers there are and whether the processor has vector instructions: each
// output is one sum in ascending order of its inputs, and each product is rounded
// before it is added. Kernels gain their speed from computing many outputs at
// once, never from splitting a sum.
package cpu
