package weights

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"github.com/llmctl/llmctl/internal/mapped"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// typeOf are the types of safetensors that block decodes.
var typeOf = map[string]block.Type{"F32": block.F32, "F16": block.F16, "BF16": block.BF16, "F8_E4M3": block.F8E4M3}

// Mapped is a model folder whose safetensors files are mapped into memory.
type Mapped struct {
	files   []*mapped.File
	paths   []string
	tensors []Stored
	byName  map[string]int
	from    map[string]string // the file of each tensor
}

// OpenFolder maps the safetensors files of a folder: those that the index names, or
// without an index model.safetensors, or else the only one. No tensor is read or copied. A folder without weights is an
// error that wraps fs.ErrNotExist.
func OpenFolder(dir string) (*Mapped, error) {
	files, idx, err := weightFiles(os.DirFS(dir))
	switch {
	case err != nil:
		return nil, fmt.Errorf("opening weights in %s: %w", dir, err)
	case len(files) == 0 && idx != nil:
		return nil, fmt.Errorf("opening weights: %s has %s, but none of the files that it names: %w", dir, indexFile, fs.ErrNotExist)
	case len(files) == 0:
		return nil, fmt.Errorf("opening weights: %s has no *.safetensors: %w", dir, fs.ErrNotExist)
	}
	m := &Mapped{byName: map[string]int{}, from: map[string]string{}}
	for _, name := range files {
		if err := m.add(dir, name); err != nil {
			return nil, errors.Join(err, m.Close())
		}
	}
	if idx != nil {
		for tensor, file := range idx.WeightMap {
			if m.from[tensor] != file {
				return nil, errors.Join(fmt.Errorf("%s says that tensor %.100q is in %s, where it is not", indexFile, tensor, file), m.Close())
			}
		}
	}
	return m, nil
}

// add maps one file and notes which tensors are in it.
func (m *Mapped) add(dir, name string) error {
	f, err := mapped.Open(filepath.Join(dir, name))
	if err != nil {
		return fmt.Errorf("opening weights: %w", err)
	}
	m.files, m.paths = append(m.files, f), append(m.paths, filepath.Join(dir, name))
	tensors, err := storedIn(f.Bytes())
	if err != nil {
		return fmt.Errorf("reading %s: %w", filepath.Join(dir, name), err)
	}
	if len(m.tensors)+len(tensors) > maxTensors {
		return fmt.Errorf("the files hold more than %d tensors", maxTensors)
	}
	for _, t := range tensors {
		if other, ok := m.from[t.Name]; ok {
			return fmt.Errorf("tensor %.100q is in %s and in %s", t.Name, other, name)
		}
		m.from[t.Name] = name
		m.byName[t.Name] = len(m.tensors)
		m.tensors = append(m.tensors, t)
	}
	return nil
}

// storedIn finds the tensors in the bytes of a safetensors file.
func storedIn(data []byte) ([]Stored, error) {
	text, err := headerText(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	values := data[8+len(text):]
	all, err := parseHeader(text, int64(len(values)))
	if err != nil {
		return nil, err
	}
	tensors := make([]Stored, len(all))
	for i, p := range all {
		// What was checked against the data's length fits an int; a shape with a zero
		// in it may still have others that do not.
		shape := make([]int, len(p.Shape))
		for j, d := range p.Shape {
			if d > math.MaxInt {
				return nil, fmt.Errorf("tensor %.100q: shape %v is out of range", p.Name, p.Shape)
			}
			shape[j] = int(d)
		}
		tensors[i] = Stored{p.Name, typeOf[p.DType], p.DType, shape, values[p.begin:p.end:p.end]}
	}
	return tensors, nil
}

// Tensors are all tensors, file by file in the order of their data.
func (m *Mapped) Tensors() []Stored { return m.tensors }

// Paths are the files, in the order in which they were opened.
func (m *Mapped) Paths() []string { return m.paths }

// File is the name of the file that holds a tensor, without its folder; empty when none does.
func (m *Mapped) File(tensor string) string { return m.from[tensor] }

// Tensor finds a tensor by its name. Its Supported says whether it can be used.
func (m *Mapped) Tensor(name string) (Stored, bool) {
	i, ok := m.byName[name]
	if !ok {
		return Stored{}, false
	}
	return m.tensors[i], true
}

// Close unmaps the files, after which no tensor's data may be read.
func (m *Mapped) Close() error {
	var errs []error
	for _, f := range m.files {
		errs = append(errs, f.Close())
	}
	m.files, m.tensors, m.byName, m.from = nil, nil, nil, nil
	return errors.Join(errs...)
}
