package weights

import (
	"fmt"

	"github.com/llmctl/llmctl/internal/weights/block"
)

// Stored is a tensor as its file holds it.
type Stored struct {
	Name  string
	Type  block.Type // block.Invalid for a type that block cannot decode
	Kind  string     // the type as the file's format spells it: "BF16", "Q5_K", …
	Shape []int      // outermost first: a matrix is rows, columns; empty for a scalar
	Data  []byte     // the values, each row contiguous, of any alignment: part of the file, not to be written to
}

// Elements is the product of the shape.
func (s Stored) Elements() int {
	n := 1
	for _, d := range s.Shape {
		n *= d
	}
	return n
}

// Supported is nil if the values can be decoded, and else an error that names the
// tensor, its type, and the types that can.
func (s Stored) Supported() error {
	if s.Type.Valid() {
		return nil
	}
	return fmt.Errorf("tensor %.100q is of type %.20s, expected one of %s: convert the model to one of those", s.Name, s.Kind, block.Names())
}
