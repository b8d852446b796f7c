// Package shape is the arithmetic of a model's shape: how many parameters it
// has, how many bytes its weights take in a format, and how many bytes of cache
// a token leaves behind. It is exact integer arithmetic on the facts of a
// config.json, and knows nothing of engines, devices or time.
package shape
