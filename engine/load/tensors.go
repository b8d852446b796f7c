package load

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// source is where tensors come from.
type source interface {
	Tensor(name string) (weights.Stored, bool)
	Tensors() []weights.Stored
}

// reader takes tensors by their names, so that code that reads looks like a list of
// them. The first that is missing or of another shape stays as its error.
type reader struct {
	source  source
	used    map[string]bool
	lessOne bool // norms are stored less one
	err     error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
	}
}

// find is a tensor of the given shape; false if there is none, which is then the
// error.
func (r *reader) find(name string, shape ...int) (weights.Stored, bool) {
	if r.err != nil {
		return weights.Stored{}, false
	}
	t, ok := r.source.Tensor(name)
	if !ok {
		r.fail("tensor %q is missing", name)
		return t, false
	}
	r.used[name] = true
	if err := t.Supported(); err != nil {
		r.fail("%w", err)
		return t, false
	}
	if !slices.Equal(t.Shape, shape) {
		r.fail("tensor %q has shape %v, expected %v by the model's config", name, t.Shape, shape)
		return t, false
	}
	return t, true
}

// vector decodes a tensor of n values.
func (r *reader) vector(name string, n int) []float32 {
	t, ok := r.find(name, n)
	if !ok {
		return nil
	}
	values := make([]float32, n)
	block.Decode(values, t.Type, t.Data)
	for i, v := range values {
		if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
			r.fail("tensor %q%s is damaged: value %d is %v, expected a finite number", name, r.file(name), i, v)
			return nil
		}
	}
	return values
}

// norm is what values are multiplied by.
func (r *reader) norm(name string, n int) []float32 {
	values := r.vector(name, n)
	if r.lessOne {
		for i := range values {
			values[i]++
		}
	}
	return values
}

func (r *reader) matrix(name string, rows, cols int) model.Matrix {
	t, ok := r.find(name, rows, cols)
	if !ok {
		return model.Matrix{}
	}
	return r.stored(name, t, rows, cols, t.Data)
}

// stack is a tensor of count matrices.
func (r *reader) stack(name string, count, rows, cols int) []model.Matrix {
	all := make([]model.Matrix, count)
	t, ok := r.find(name, count, rows, cols)
	if !ok {
		return all
	}
	size := len(t.Data) / count
	for i := range all {
		all[i] = r.stored(name, t, rows, cols, t.Data[i*size:(i+1)*size:(i+1)*size])
	}
	return all
}

func (r *reader) stored(name string, t weights.Stored, rows, cols int, data []byte) model.Matrix {
	m, err := model.NewMatrix(rows, cols, t.Type, data)
	if err != nil {
		r.fail("tensor %q: %w", name, err)
	}
	return m
}

// parts cuts a matrix into the given numbers of rows, which are all of it.
func parts(m model.Matrix, rows ...int) []model.Matrix {
	cut := make([]model.Matrix, len(rows))
	if m.Data == nil {
		return cut
	}
	size, at := m.RowBytes(), 0
	for i, n := range rows {
		cut[i] = m
		end := at + n*size
		cut[i].Rows, cut[i].Data = n, m.Data[at:end:end]
		at = end
	}
	return cut
}

// halves turns rows whose rotary pairs lie side by side, as llama.cpp has them for
// models of its architecture "llama", into such whose pairs are half a head apart. It
// copies the rows (llama.cpp, convert_hf_to_gguf.py, permute, is the way there).
func halves(m model.Matrix, heads int) model.Matrix {
	if m.Data == nil {
		return m
	}
	size, width := m.RowBytes(), m.Rows/heads
	data := make([]byte, 0, len(m.Data))
	for h := range heads {
		for half := range 2 {
			for i := range width / 2 {
				row := h*width + 2*i + half
				data = append(data, m.Data[row*size:(row+1)*size]...)
			}
		}
	}
	m.Data = data
	return m
}

// rest reports a tensor that was not used and is not known to do nothing.
func (r *reader) rest(harmless func(name string) bool) {
	for _, t := range r.source.Tensors() {
		if !r.used[t.Name] && !harmless(t.Name) {
			r.fail("tensor %q%s is not one of a model of this architecture: the config is another model's, or this variant is not supported", t.Name, r.file(t.Name))
			return
		}
	}
}

// file says in which of several files a tensor is.
func (r *reader) file(tensor string) string {
	if s, ok := r.source.(interface{ File(tensor string) string }); ok {
		return " of " + s.File(tensor)
	}
	return ""
}

func hasAnyPrefix(name string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) })
}
