// Package gguftest writes small GGUF files for tests.
package gguftest

import (
	"encoding/binary"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/llmctl/llmctl/internal/weights"
)

// Tensor is a tensor to write: its type is as Kind says, its shape outermost first.
// weightstest.Tensor makes one from values.
type Tensor = weights.Stored

// numbers are the types that can be written, by their names.
var numbers = map[string]uint32{
	"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8, "Q4_K": 12, "Q5_K": 13, "Q6_K": 14, "I32": 26, "BF16": 30,
}

// types of metadata are numbered by Go's kinds.
var types = map[reflect.Kind]uint32{
	reflect.Uint8: 0, reflect.Int8: 1, reflect.Uint16: 2, reflect.Int16: 3, reflect.Uint32: 4, reflect.Int32: 5, reflect.Float32: 6,
	reflect.Bool: 7, reflect.String: 8, reflect.Slice: 9, reflect.Uint64: 10, reflect.Int64: 11, reflect.Float64: 12,
}

// Bytes is a file of version 3. Metadata may be booleans, strings, numbers of a sized
// type, and slices of those; keys come in order. Tensors are aligned to
// "general.alignment", which is a uint32 where it is given.
func Bytes(metadata map[string]any, tensors []Tensor) ([]byte, error) {
	b := binary.LittleEndian.AppendUint32([]byte("GGUF"), 3)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(tensors)))
	b = binary.LittleEndian.AppendUint64(b, uint64(len(metadata)))
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		var err error
		if b, err = appendValue(appendText(b, key), reflect.ValueOf(metadata[key])); err != nil {
			return nil, fmt.Errorf("metadata %q: %w", key, err)
		}
	}
	alignment := uint32(32)
	if a, ok := metadata["general.alignment"].(uint32); ok {
		alignment = a
	}
	var data []byte
	for _, t := range tensors {
		number, ok := numbers[t.Kind]
		if !ok {
			return nil, fmt.Errorf("tensor %q: type %q is not written", t.Name, t.Kind)
		}
		b = binary.LittleEndian.AppendUint32(appendText(b, t.Name), uint32(len(t.Shape)))
		for _, d := range slices.Backward(t.Shape) {
			b = binary.LittleEndian.AppendUint64(b, uint64(d))
		}
		b = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(b, number), uint64(len(data)))
		data = pad(append(data, t.Data...), alignment)
	}
	return append(pad(b, alignment), data...), nil
}

// Write writes such a file.
func Write(path string, metadata map[string]any, tensors []Tensor) error {
	data, err := Bytes(metadata, tensors)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

func pad(b []byte, alignment uint32) []byte {
	for len(b)%int(alignment) != 0 {
		b = append(b, 0)
	}
	return b
}

func appendText(b []byte, s string) []byte {
	return append(binary.LittleEndian.AppendUint64(b, uint64(len(s))), s...)
}

// appendValue appends the type of a value, and the value.
func appendValue(b []byte, v reflect.Value) ([]byte, error) {
	number, ok := types[v.Kind()]
	if !ok {
		return nil, fmt.Errorf("a %s has no type in GGUF", v.Kind())
	}
	b = binary.LittleEndian.AppendUint32(b, number)
	if v.Kind() != reflect.Slice {
		return appendPlain(b, v)
	}
	element, ok := types[v.Type().Elem().Kind()]
	if !ok {
		return nil, fmt.Errorf("a %s has no type in GGUF", v.Type())
	}
	b = binary.LittleEndian.AppendUint32(b, element)
	b = binary.LittleEndian.AppendUint64(b, uint64(v.Len()))
	for i := range v.Len() {
		var err error
		if b, err = appendPlain(b, v.Index(i)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func appendPlain(b []byte, v reflect.Value) ([]byte, error) {
	if v.Kind() == reflect.String {
		return appendText(b, v.String()), nil
	}
	return binary.Append(b, binary.LittleEndian, v.Interface())
}
