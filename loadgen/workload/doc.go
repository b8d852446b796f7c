// Package workload turns the description of a workload into a stream of
// requests: when each is due, how long its prompt and its answer are, which
// prefix it shares with others. The texts are made elsewhere.
//
// Everything is a pure function of the seed and of an index, so that whoever
// reads a stream sees the same requests, on any machine and in any order. Times
// are whole nanoseconds, and what leads to them rounds alike everywhere (package
// portable).
//
// Sessions start by an arrival process. Those of an open loop have ticks (even
// or random) on a clock that a rate or a curve of rates turns into time; those
// of a closed loop wait for their turn. Shards take every n-th session, whole.
package workload
