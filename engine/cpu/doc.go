// Package cpu is the executor that runs the transformer on the CPU, reading and writing K and V only through block tables.
package cpu
