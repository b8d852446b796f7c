// Package weightstest writes small safetensors files for tests.
package weightstest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// Tensor stores values as a tensor of a type that block.Encode writes.
func Tensor(name string, t block.Type, shape []int, values []float32) (weights.Stored, error) {
	size, err := t.Size(len(values))
	if err != nil {
		return weights.Stored{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	s := weights.Stored{Name: name, Type: t, Kind: t.String(), Shape: shape, Data: make([]byte, size)}
	if n := s.Elements(); n != len(values) {
		return weights.Stored{}, fmt.Errorf("tensor %q: %d values for shape %v", name, len(values), shape)
	}
	if err := block.Encode(s.Data, t, values); err != nil {
		return weights.Stored{}, fmt.Errorf("tensor %q: %w", name, err)
	}
	return s, nil
}

// entry is a tensor in the header.
type entry struct {
	DType   string `json:"dtype"`
	Shape   []int  `json:"shape"`
	Offsets [2]int `json:"data_offsets"`
}

// Bytes is a safetensors file with the tensors, whose types are as Kind says.
func Bytes(tensors []weights.Stored) ([]byte, error) {
	header, at := map[string]entry{}, 0
	for _, t := range tensors {
		shape := append([]int{}, t.Shape...) // a scalar's is a list too
		header[t.Name] = entry{t.Kind, shape, [2]int{at, at + len(t.Data)}}
		at += len(t.Data)
	}
	text, err := json.Marshal(header)
	if err != nil {
		return nil, err
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	for _, t := range tensors {
		file = append(file, t.Data...)
	}
	return file, nil
}

// Write writes a safetensors file.
func Write(path string, tensors []weights.Stored) error {
	data, err := Bytes(tensors)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// WriteSharded writes one file for each list of tensors, and the index.
func WriteSharded(dir string, shards ...[]weights.Stored) error {
	where, total := map[string]string{}, 0
	for i, tensors := range shards {
		name := fmt.Sprintf("model-%05d-of-%05d.safetensors", i+1, len(shards))
		for _, t := range tensors {
			where[t.Name] = name
			total += len(t.Data)
		}
		if err := Write(filepath.Join(dir, name), tensors); err != nil {
			return err
		}
	}
	index, err := json.Marshal(map[string]any{"metadata": map[string]int{"total_size": total}, "weight_map": where})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "model.safetensors.index.json"), index, 0o600)
}
