package matrix

import (
	"fmt"

	"github.com/llmctl/llmctl/engine/cpu/pages"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/weights/block"
)

// Width is how many outputs a panel has.
const Width = 16

// Matrix is a weight matrix in panels. The zero Matrix is absent.
type Matrix struct {
	In, Out int
	layout  layout
	data    []byte // panels of layout.panel(In) bytes; the last one is filled up with zeros
}

// layout is how a panel stores its weights. What follows is repeated for each input of
// plain numbers, and for each block of 32 inputs of the others; [16] goes over outputs.
type layout uint8

const (
	floats32  layout = iota // [16]float32
	floats16                // [16] halves
	brains16                // [16] upper halves of float32
	nibbles                 // [16] half scales, [16] half minimums, codes
	nibbles32               // [16]float32 scales, [16]float32 minimums, codes
	bytes8                  // [16] half scales, codes
	bytes16                 // [16]float32 scales of the first 16 inputs, of the last 16, codes
)

// Codes are stored for four inputs at a time, those of one output next to each other:
// nibbles as 32 bytes [8 outputs][4 inputs], whose upper nibbles are those of the last
// eight outputs; bytes as [16 outputs][4 inputs], signed.

// unit is the bytes of what is repeated, and how many inputs it holds.
func (l layout) unit() (bytes, inputs int) {
	switch l {
	case floats32:
		return 4 * Width, 1
	case floats16, brains16:
		return 2 * Width, 1
	case nibbles:
		return (2 + 2 + Block/2) * Width, Block
	case nibbles32:
		return (4 + 4 + Block/2) * Width, Block
	case bytes8:
		return (2 + Block) * Width, Block
	default: // bytes16
		return (4 + 4 + Block) * Width, Block
	}
}

// panel is the bytes of a panel.
func (l layout) panel(in int) int {
	bytes, inputs := l.unit()
	return in / inputs * bytes
}

// layouts says how the stored types are packed.
var layouts = map[block.Type]layout{
	block.F32: floats32, block.F16: floats16, block.BF16: brains16, block.F8E4M3: floats16,
	block.Q4_0: nibbles, block.Q4_1: nibbles, block.Q4_K: nibbles32, block.Q8_0: bytes8, block.Q6_K: bytes16,
}

// Panels is how many panels there are.
func (m *Matrix) Panels() int { return (m.Out + Width - 1) / Width }

// Quantized says whether the matrix wants quantized activations.
func (m *Matrix) Quantized() bool { return m.layout >= nibbles }

// PanelBytes is the size of one panel.
func (m *Matrix) PanelBytes() int { return m.layout.panel(m.In) }

// Bytes is the size of all panels.
func (m *Matrix) Bytes() int { return len(m.data) }

// Each is how Pack shares its work: it calls do for every part.
type Each func(parts int, do func(worker, part int))

// Pack lays out a stored matrix, in memory of the arena. each does the panels, in any
// order or at once.
func Pack(each Each, memory *pages.Arena, w model.Matrix) (Matrix, error) {
	l, known := layouts[w.Type]
	switch {
	case !known:
		return Matrix{}, fmt.Errorf("packing weights stored as %s", w.Type)
	case w.Scales != nil && w.Type != block.F8E4M3:
		return Matrix{}, fmt.Errorf("packing weights stored as %s with a scale for each output", w.Type)
	}
	if w.Type == block.Q4_0 && !smallScales(w.Data) {
		l = nibbles32
	}
	m := Matrix{In: w.Cols, Out: w.Rows, layout: l}
	size := m.PanelBytes()
	m.data = memory.Bytes(m.Panels() * size)
	each(m.Panels(), func(_, panel int) {
		var rows [Width][]byte
		for r := range min(Width, w.Rows-panel*Width) {
			n := w.RowBytes()
			rows[r] = w.Data[(panel*Width+r)*n:][:n]
			if w.Type == block.F8E4M3 {
				rows[r] = halves(rows[r], w.Scales, panel*Width+r)
			}
		}
		packPanel(m.data[panel*size:][:size], l, w.Type, &rows)
	})
	return m, nil
}
