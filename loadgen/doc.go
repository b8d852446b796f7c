// Package loadgen loads an OpenAI-compatible endpoint with a workload and
// writes down, in one record per request, what a client saw.
//
// An open loop sends each request when it is due, whatever the server does; a
// closed loop keeps a fixed number in flight. Every answer is read as it
// arrives: each read from the socket is stamped when it returns, before
// anything is parsed. The client watches itself too: how late it sent, how much
// CPU it used, how long its garbage collector paused it.
//
// The meaning of each moment and outcome is that of package record; package
// loadgen computes no statistics.
package loadgen
