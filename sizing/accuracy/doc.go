// Package accuracy compares what llmctl plans with what real engines logged and
// what publishers state: the pool and its tokens, TensorRT-LLM's concurrency,
// parameters, times. Each comparison is a Check with a bar; `make accuracy`
// prints them and writes docs/accuracy.md.
//
// Reading order: check.go (what a comparison is), table.go and data.go (rows of
// a CSV as requests), pool.go, sequences.go, parameters.go, times.go (the
// comparisons),
// print.go and markdown.go (the two views).
package accuracy
