// Package tokenizer says what a tokenizer is, and holds the built-in model's with
// its word list: 2048 tokens, of which 850 are common English words, each with and
// without a leading space. That one is lossless: every string, valid UTF-8 or not,
// survives Encode and Decode unchanged, and decoding is plain concatenation.
//
// Those of other models are read by its subpackages.
package tokenizer
