// Package workload turns the description of a workload into a stream of
// requests: when each is due, how long its prompt and its answer are, which
// prefix it shares with others. The texts are made elsewhere.
//
// Everything is a pure function of the seed and of an index, so that
// whoever reads a stream sees the same requests, on any machine and in any
// order.
package workload
