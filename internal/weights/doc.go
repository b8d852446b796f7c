// Package weights reads what safetensors files say about their tensors: names,
// types, shapes and sizes, from the header alone. It never reads the data.
package weights
