// Package route decides where a request goes: which of an alias's targets may
// serve it, in which order, and which endpoint of a target's provider is picked.
// It is pure: load, randomness and turns come in as arguments. An Index is the one
// thing that keeps state.
package route
