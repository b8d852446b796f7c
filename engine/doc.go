// Package engine is the reference engine: the loop that joins scheduler,
// executor and streams.
//
// One goroutine owns the scheduler and the state of every request. Each turn it
// takes in new and abandoned requests, lets the scheduler compose a batch, has
// the executor run it, and turns the sampled tokens into text. Callers talk to
// it through Submit and Stream only; a caller that reads slowly, or leaves, holds
// nobody up.
//
// Where to look:
//
//   - config.go, memory.go: what is served, and with how much memory
//   - request.go, stream.go: what a caller asks for and hears
//   - admission.go: who is refused
//   - loop.go: a turn; prepare.go: what goes into a step; take.go: what comes of it
//   - answer.go, hash.go, text.go: one answer, its blocks' names and its text
//   - speculate.go, ngram.go: proposals of tokens
//   - stats.go, steplog.go: what is counted, and said of each step
package engine
