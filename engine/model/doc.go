// Package model is the transformer's shape, its seeded synthetic weights, and
// sampling. It knows no device: executors read its Weights and use its Sampler.
// Everything here is deterministic to the bit on every machine: weights come
// from a counted generator, products are rounded before they are added, and a
// sample depends only on the logits, the request's seed and the position.
package model
