// Package weights reads safetensors files: what their headers say about their
// tensors, names, types, shapes and sizes, and on request the tensors themselves, as
// parts of files that are mapped into memory.
package weights
