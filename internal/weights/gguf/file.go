package gguf

import (
	"errors"
	"fmt"
	"regexp"

	"github.com/llmctl/llmctl/internal/mapped"
	"github.com/llmctl/llmctl/internal/weights"
)

// File is a model in one GGUF file, or in the parts of a split one.
type File struct {
	files   []*mapped.File
	paths   []string
	meta    map[string]value // of the first part
	tensors []weights.Stored
	byName  map[string]int
}

// Open maps a file, and if it is the first part of several, all of them, which lie
// beside it. No tensor is read or copied.
func Open(path string) (*File, error) {
	f, err := openPart(path)
	if err != nil {
		return nil, err
	}
	if err := f.openRest(path); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func openPart(path string) (*File, error) {
	m, err := mapped.Open(path)
	if err != nil {
		return nil, fmt.Errorf("opening model: %w", err)
	}
	f, err := Parse(m.Bytes())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("reading %s: %w", path, err), m.Close())
	}
	f.files, f.paths = []*mapped.File{m}, []string{path}
	return f, nil
}

// partName is how parts are named (llama.cpp, llama_split_path).
var partName = regexp.MustCompile(`^(?s)(.*)-(\d{5})-of-(\d{5})\.gguf$`)

// part says which of how many parts f is: 0 of 1 for a whole model.
func (f *File) part() (number, count uint64, err error) {
	number, _, err = f.Uint("split.no")
	if err != nil {
		return 0, 0, err
	}
	count, ok, err := f.Uint("split.count")
	switch {
	case err != nil:
		return 0, 0, err
	case !ok || count == 0:
		count = 1
	}
	if number >= count {
		return 0, 0, fmt.Errorf("metadata \"split.no\" is %d, expected less than \"split.count\", %d", number, count)
	}
	return number, count, nil
}

// openRest adds the tensors of the other parts to those of the first.
func (f *File) openRest(path string) error {
	number, count, err := f.part()
	if err != nil {
		return fmt.Errorf("reading %s: %w", path, err)
	}
	if count == 1 {
		return nil
	}
	name := partName.FindStringSubmatch(path)
	if name == nil || name[2] != fmt.Sprintf("%05d", number+1) || name[3] != fmt.Sprintf("%05d", count) {
		return fmt.Errorf("%s is part %d of %d, expected a name that ends in -%05d-of-%05d.gguf, by which the others are found", path, number+1, count, number+1, count)
	}
	at := func(i uint64) string { return fmt.Sprintf("%s-%05d-of-%05d.gguf", name[1], i+1, count) }
	if number != 0 {
		return fmt.Errorf("%s is part %d of %d, expected the first, %s", path, number+1, count, at(0))
	}
	for i := uint64(1); i < count; i++ {
		if err := f.addPart(at(i), i, count); err != nil {
			return err
		}
	}
	total, ok, err := f.Uint("split.tensors.count")
	switch {
	case err != nil:
		return fmt.Errorf("reading %s: %w", path, err)
	case ok && total != uint64(len(f.tensors)):
		return fmt.Errorf("the %d parts of %s hold %d tensors, expected %d", count, path, len(f.tensors), total)
	}
	return nil
}

// addPart opens part number (of count, from 0) and takes its tensors over.
func (f *File) addPart(path string, number, count uint64) error {
	other, err := openPart(path)
	if err != nil {
		return err
	}
	f.files, f.paths = append(f.files, other.files...), append(f.paths, path)
	switch n, c, err := other.part(); {
	case err != nil:
		return fmt.Errorf("reading %s: %w", path, err)
	case n != number || c != count:
		return fmt.Errorf("%s is part %d of %d, expected part %d of %d", path, n+1, c, number+1, count)
	case len(f.tensors)+len(other.tensors) > maxTensors:
		return fmt.Errorf("the parts hold more than %d tensors", maxTensors)
	}
	for _, t := range other.tensors {
		if _, ok := f.byName[t.Name]; ok {
			return fmt.Errorf("tensor %.100q of %s is in a part before it", t.Name, path)
		}
		f.byName[t.Name] = len(f.tensors)
		f.tensors = append(f.tensors, t)
	}
	return nil
}

// Tensors are all tensors in the order of the file. Those of types that block cannot
// decode have the type block.Invalid; those of unknown ones no data.
func (f *File) Tensors() []weights.Stored { return f.tensors }

// Paths are the files: one, or the parts in order.
func (f *File) Paths() []string { return f.paths }

// Tensor finds a tensor by its name. Its Supported says whether it can be used.
func (f *File) Tensor(name string) (weights.Stored, bool) {
	i, ok := f.byName[name]
	if !ok {
		return weights.Stored{}, false
	}
	return f.tensors[i], true
}

// Close unmaps the files, after which no tensor's data may be read, and there is
// neither metadata nor a tensor.
func (f *File) Close() error {
	var errs []error
	for _, m := range f.files {
		errs = append(errs, m.Close())
	}
	*f = File{}
	return errors.Join(errs...)
}
