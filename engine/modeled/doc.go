// Package modeled is an executor without a model: its steps last what the cost
// model says of their batch on some accelerator, and its tokens are words that
// cost nothing to make. With it the engine serves any model, at the pace of any
// hardware, on any machine.
//
// Where to look:
//
//   - executor.go: steps, and when they end
//   - words.go: the tokens
//   - clock.go: the time in which steps last
package modeled
