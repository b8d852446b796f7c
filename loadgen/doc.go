// Package loadgen loads an OpenAI-compatible endpoint with a workload and
// writes down, in one record per request, what a client saw.
//
// An open loop sends each request when it is due, whatever the server does; a
// closed loop keeps a number in flight, or has a number of users who read and
// think. Sessions are sent turn by turn, and each turn carries the real answers
// to those before it. Every answer is read as it arrives: each read from the
// socket is stamped when it returns, before anything is parsed. The client
// watches itself too: how late it sent, how much CPU it used, how long its
// garbage collector paused it.
//
// A run warms up, measures, stops sending and drains; every phase has an end. It
// is broken off when most requests fail, or when a backlog grows without end.
//
// The meaning of each moment and outcome is that of package record; package
// loadgen computes no statistics.
package loadgen
