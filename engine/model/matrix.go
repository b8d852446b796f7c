package model

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/weights/block"
)

// Matrix is a weight matrix as it is stored: by output row, so that one output is
// the product of one contiguous row and the input. The zero Matrix is absent.
type Matrix struct {
	Rows, Cols int // outputs, inputs
	Type       block.Type
	Data       []byte // Rows rows of Type.Size(Cols) bytes; often a part of a mapped file
	// Scales is what each row's numbers have to be multiplied by; nil when all are 1.
	Scales []float32
}

// NewMatrix checks that data are rows·cols values of a type.
func NewMatrix(rows, cols int, t block.Type, data []byte) (Matrix, error) {
	row, err := t.Size(cols)
	switch {
	case err != nil:
		return Matrix{}, err
	case rows < 1 || cols < 1 || rows > maxElements/cols:
		return Matrix{}, fmt.Errorf("a matrix of %d by %d", rows, cols)
	case len(data) != rows*row:
		return Matrix{}, fmt.Errorf("%d bytes for a matrix of %d by %d %s, expected %d", len(data), rows, cols, t, rows*row)
	}
	return Matrix{Rows: rows, Cols: cols, Type: t, Data: data}, nil
}

// FloatMatrix stores values, rows·cols of them, as F32.
func FloatMatrix(rows, cols int, values []float32) Matrix {
	data := make([]byte, 0, 4*len(values))
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return Matrix{Rows: rows, Cols: cols, Type: block.F32, Data: data}
}

// RowBytes is the size of one row.
func (m Matrix) RowBytes() int { return len(m.Data) / max(m.Rows, 1) }

// Row decodes one row into dst, which has Cols elements.
func (m Matrix) Row(dst []float32, row int) {
	n := m.RowBytes()
	block.Decode(dst[:m.Cols], m.Type, m.Data[row*n:(row+1)*n])
	m.scale(dst[:m.Cols], row)
}

// scale multiplies the numbers of a row by its scale.
func (m Matrix) scale(values []float32, row int) {
	if m.Scales == nil {
		return
	}
	for i := range values {
		values[i] *= m.Scales[row]
	}
}

// Floats decodes all rows.
func (m Matrix) Floats() []float32 {
	values := make([]float32, m.Rows*m.Cols)
	block.Decode(values, m.Type, m.Data)
	for r := range m.Scales {
		m.scale(values[r*m.Cols:][:m.Cols], r)
	}
	return values
}
