// Package team shares the parts of one piece of work at a time among a fixed set of
// goroutines.
//
// A step of a model is hundreds of pieces of some microseconds each, so the helpers
// watch for the next piece for a while before they go to sleep, and the caller never
// waits for a helper to come: it takes parts itself until there are none left, and then
// waits only for parts that a helper has begun. So a helper whose core is taken away by
// another process slows nothing but the part it is in.
package team
