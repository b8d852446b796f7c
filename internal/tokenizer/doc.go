// Package tokenizer is the built-in model's tokenizer and its word list: 2048
// tokens, of which 850 are common English words, each with and without a leading
// space. It is lossless: every string, valid UTF-8 or not, survives Encode and
// Decode unchanged, and decoding is plain concatenation.
package tokenizer
