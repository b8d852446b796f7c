// Package tokenizer is the built-in model's tokenizer and its word list.
package tokenizer
