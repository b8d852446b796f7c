// Package cache keeps complete answers so that they can be given again: exactly,
// by a hash of everything that can change an answer, and by meaning, by the
// similarity of the one question in a space of requests that are otherwise equal.
// The tenant is part of every key and space, so no tenant ever meets what
// another one asked. What may be cached, and the guard against questions that
// only look alike, are pure functions; Memory and Flights are safe for
// concurrent use and own no goroutines; Embedder is the one part that calls out.
package cache
