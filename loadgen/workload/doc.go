// Package workload turns the description of a workload into a stream of
// requests: when each is due, how long its prompt and its answer are, which
// prefix it shares with others, and the text itself.
//
// Everything is a pure function of the seed and of an index, so that the
// whoever reads a stream sees the same requests, on any machine and in any
// order. The salt changes texts only: a second run with another salt has
// the same lengths and arrivals, and finds nothing in the target's prefix cache.
package workload
