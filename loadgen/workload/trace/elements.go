package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"

	"github.com/llmctl/llmctl/internal/units"
)

// elements reads the objects of a JSON array, or of a file that has them one
// after another, without holding more than one.
type elements struct {
	in      *bufio.Reader
	object  []byte // the current one
	line    int    // where it begins, from 1
	column  int
	atLine  int // of the next byte
	atByte  int
	inArray bool
	ended   bool // the array has
}

func newElements(in *bufio.Reader) *elements { return &elements{in: in, atLine: 1, atByte: 1} }

func (e *elements) read() (byte, error) {
	c, err := e.in.ReadByte()
	if err != nil {
		return 0, err
	}
	e.atByte++
	if c == '\n' {
		e.atLine, e.atByte = e.atLine+1, 1
	}
	return c, nil
}

// next moves to the next object; io.EOF at the end. Objects may still be
// broken inside; what stands between them may not.
func (e *elements) next() error {
	for {
		c, err := e.read()
		switch {
		case errors.Is(err, io.EOF) && e.inArray && !e.ended:
			return fmt.Errorf("line %d, column %d: the file ends before its list does", e.atLine, e.atByte)
		case err != nil:
			return err
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		case e.ended:
			return fmt.Errorf("line %d, column %d: %q after the end of the list", e.atLine, e.atByte-1, c)
		case c == '[' && !e.inArray && e.object == nil:
			e.inArray = true
		case c == ',' && e.inArray && e.object != nil:
		case c == ']' && e.inArray:
			e.ended = true
		case c == '{':
			e.line, e.column = e.atLine, e.atByte-1
			return e.rest()
		default:
			return fmt.Errorf("line %d, column %d: unexpected %q, expected an object", e.atLine, e.atByte-1, c)
		}
	}
}

// rest reads an object after its first bracket.
func (e *elements) rest() error {
	e.object = append(e.object[:0], '{')
	quoted, escaped := false, false
	for depth := 1; depth > 0; {
		c, err := e.read()
		switch {
		case errors.Is(err, io.EOF):
			return fmt.Errorf("the file ends inside of the object that begins at line %d, column %d", e.line, e.column)
		case err != nil:
			return err
		case len(e.object) >= maxRow:
			return fmt.Errorf("the object that begins at line %d, column %d is longer than %s", e.line, e.column, units.Bytes(maxRow))
		}
		e.object = append(e.object, c)
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
	}
	return nil
}

// place is the line and column of a byte of the current object.
func (e *elements) place(offset int64) (line, column int) {
	line, column = e.line, e.column
	for _, c := range e.object[:min(max(0, int(offset)-1), len(e.object))] {
		column++
		if c == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}
