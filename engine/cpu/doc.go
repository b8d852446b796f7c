// Package cpu is the executor that runs the transformer on the CPU, reading and
// writing K and V only through block tables.
//
// Every token's arithmetic is the same to the bit whatever else is in the batch,
// however its prompt was cut into chunks, wherever its blocks lie and however
// many workers there are: each output is one sum in ascending order of its
// inputs, each product is rounded before it is added (so that no compiler fuses
// them), and kernels that work on several tokens at once keep one accumulator
// per output.
package cpu
