// Package reference computes a transformer straight from its definition, in float64:
// no cache, no blocks, no tiles, no code that an executor has as well. It is what
// executors are tested against, and is itself held against transformers and llama.cpp
// (engine/load/testdata).
package reference
