// Package gguf reads GGUF files of versions 2 and 3, little-endian: metadata as keys
// and typed values, and tensors as parts of the mapped file
// (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). Every count, length,
// size and offset is held against the file before it is used.
package gguf
