// Package infer makes a scenario of what was seen in production: the lines of a
// gateway's or of any other request log, a trace, or the metrics page of an
// inference server. Each part of the scenario comes with what it rests on, and
// what could not be known is said rather than guessed.
package infer
