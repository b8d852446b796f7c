// Package quality measures how well a model predicts texts as an executor runs it: the
// log-probability of each next token, perplexity, and how far predictions are from
// those of another program. Its integration tests hold the engine against llama.cpp on
// a real model; cmd/quality compares formats of weights and of the KV cache.
package quality
