// Package route picks where a request goes: one of an alias's weighted targets,
// then one endpoint of that target's provider. It is pure: load, randomness and
// turns come in as arguments. An Index is the one thing that keeps state.
package route
