// Package study is what people ask of a simulation: a scenario is resolved once,
// by sizing, and then run at any load and with any seed, on all cores at once.
package study
