// Package route picks where a request goes: one of an alias's weighted targets,
// then one endpoint of that target's provider. It is pure: load and randomness
// come in as arguments.
package route
