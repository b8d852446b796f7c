// Package engine is the reference engine: the loop that joins scheduler,
// executor and streams.
//
// One goroutine owns the scheduler and the state of every request. Each turn it
// takes in new and abandoned requests, lets the scheduler compose a batch, has
// the executor run it, and turns the sampled tokens into text. Callers talk to
// it through Submit and Stream only; a caller that reads slowly, or leaves, holds
// nobody up.
package engine
