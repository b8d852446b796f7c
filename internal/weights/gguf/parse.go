package gguf

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/llmctl/llmctl/internal/weights"
)

// Bounds of a file. What is published has some hundred keys, and no more tensors than
// a safetensors folder.
const (
	maxKeys    = 100_000
	maxTensors = 500_000
	maxDims    = 4 // GGML_MAX_DIMS
)

// Parse reads a whole file, or one part of a split one, from its bytes, which the
// tensors and the metadata refer to: they may not be written to any more.
func Parse(data []byte) (*File, error) {
	r := &reader{data: data}
	tensors, keys, err := readHead(r)
	if err != nil {
		return nil, err
	}
	f := &File{meta: map[string]value{}, byName: map[string]int{}}
	for range keys {
		key := string(r.text("metadata key"))
		v := r.readValue(r.u32("type of a metadata value"))
		if r.err != nil {
			return nil, fmt.Errorf("reading metadata %.100q: %w", key, r.err)
		}
		if _, ok := f.meta[key]; ok {
			return nil, fmt.Errorf("metadata %.100q is there twice", key)
		}
		f.meta[key] = v
	}
	alignment, err := f.alignment()
	if err != nil {
		return nil, err
	}
	all := make([]placed, 0, tensors)
	for range tensors {
		p, err := readTensor(r)
		if err != nil {
			return nil, err
		}
		if p.offset%alignment != 0 {
			return nil, fmt.Errorf("tensor %.100q: offset %d is no multiple of the alignment %d", p.Name, p.offset, alignment)
		}
		all = append(all, p)
	}
	start := (uint64(r.at) + alignment - 1) / alignment * alignment
	if err := f.place(all, data, start); err != nil {
		return nil, err
	}
	return f, nil
}

// readHead reads what a file begins with: how many tensors and keys it has.
func readHead(r *reader) (tensors, keys uint64, err error) {
	if !bytes.HasPrefix(r.data, []byte("GGUF")) {
		return 0, 0, fmt.Errorf("begins with %.20q, expected \"GGUF\": this is no GGUF file", r.data[:min(4, len(r.data))])
	}
	r.at = 4
	version := r.u32("version")
	switch {
	case r.err != nil:
		return 0, 0, r.err
	case version != 0 && version&0xffff == 0:
		return 0, 0, fmt.Errorf("version %d of big-endian GGUF, expected little-endian: convert the model for this machine", bits.ReverseBytes32(version))
	case version != 2 && version != 3:
		return 0, 0, fmt.Errorf("version %d of GGUF, expected 2 or 3: convert the model anew", version)
	}
	tensors, keys = r.u64("count of tensors"), r.u64("count of metadata keys")
	switch {
	case r.err != nil:
		return 0, 0, r.err
	// A key takes 13 bytes at least, a tensor 24.
	case keys > maxKeys || keys > r.left()/13:
		return 0, 0, fmt.Errorf("%d metadata keys in a file of %d bytes, expected at most %d", keys, len(r.data), min(maxKeys, r.left()/13))
	case tensors > maxTensors || tensors > r.left()/24:
		return 0, 0, fmt.Errorf("%d tensors in a file of %d bytes, expected at most %d", tensors, len(r.data), min(maxTensors, r.left()/24))
	}
	return tensors, keys, nil
}

// alignment is that of the tensors' data.
func (f *File) alignment() (uint64, error) {
	n, ok, err := f.Uint("general.alignment")
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 32, nil
	case n == 0 || n&(n-1) != 0 || n > 1<<20:
		return 0, fmt.Errorf("metadata \"general.alignment\" is %d, expected a power of two up to %d", n, 1<<20)
	}
	return n, nil
}

// placed is a tensor and where its data is, from the beginning of all data.
type placed struct {
	weights.Stored
	offset, size uint64
}

// readTensor reads what is said of a tensor.
func readTensor(r *reader) (placed, error) {
	name := string(r.text("name of a tensor"))
	n := r.u32("count of dimensions")
	if r.err == nil && n > maxDims {
		return placed{}, fmt.Errorf("tensor %.100q: has %d dimensions, expected at most %d", name, n, maxDims)
	}
	dims := make([]uint64, n)
	for i := range dims {
		dims[i] = r.u64("dimension")
	}
	number, offset := r.u32("type of a tensor"), r.u64("offset of a tensor")
	if r.err != nil {
		return placed{}, fmt.Errorf("tensor %.100q: %w", name, r.err)
	}
	k, known := kinds[number]
	if !known {
		// Nothing is known of its size; to describe the file is still possible.
		k = kind{name: fmt.Sprintf("number %d", number), elements: 1, bytes: 1}
	}
	size, err := k.size(dims)
	if err != nil {
		return placed{}, fmt.Errorf("tensor %.100q: %w", name, err)
	}
	if !known {
		size = 0
	}
	p := placed{weights.Stored{Name: name, Type: k.as, Kind: k.name, Shape: make([]int, len(dims))}, offset, size}
	for i, d := range dims {
		if d > math.MaxInt {
			return placed{}, fmt.Errorf("tensor %.100q: dimensions %v are out of range", name, dims)
		}
		p.Shape[len(dims)-1-i] = int(d)
	}
	return p, nil
}

// place gives the tensors their data, which begins at byte start of the file.
func (f *File) place(all []placed, data []byte, start uint64) error {
	if len(all) > 0 && start > uint64(len(data)) {
		return fmt.Errorf("the tensors' data begins at byte %d of %d: the file is cut off", start, len(data))
	}
	end := uint64(len(data))
	for i := range all {
		p := &all[i]
		if p.offset > end-start || p.size > end-start-p.offset {
			return fmt.Errorf("tensor %.100q: %d bytes at %d end beyond the file's %d bytes of data: the file is cut off", p.Name, p.size, p.offset, end-start)
		}
		from := start + p.offset
		p.Data = data[from : from+p.size : from+p.size]
		if _, ok := f.byName[p.Name]; ok {
			return fmt.Errorf("tensor %.100q is there twice", p.Name)
		}
		f.byName[p.Name] = len(f.tensors)
		f.tensors = append(f.tensors, p.Stored)
	}
	return overlaps(all)
}

// overlaps is an error if two tensors share a byte.
func overlaps(all []placed) error {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(a.size, b.size))
	})
	for i := range sorted[:max(0, len(sorted)-1)] {
		if a, b := sorted[i], sorted[i+1]; a.offset+a.size > b.offset {
			return fmt.Errorf("tensors %.100q and %.100q overlap: %d bytes at %d, and the next at %d", a.Name, b.Name, a.size, a.offset, b.offset)
		}
	}
	return nil
}
