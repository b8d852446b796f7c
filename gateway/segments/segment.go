package segments

import (
	"fmt"
	"slices"

	"github.com/cespare/xxhash/v2"
)

// Segment is a part of a prompt that clients write as one: the tools, a message.
type Segment struct {
	Part  string // field of the request: tools, instructions, prompt, messages, input
	Index int    // of a message in its list; −1 where the part is no list
	Role  string // of a message; roles that are not known count as other
	Text  string // JSON text: of the content, without quotes where it is a string
}

// name is how a report calls a segment.
func name(part string, index int) string {
	if index < 0 {
		return part
	}
	return fmt.Sprintf("%s[%d]", part, index)
}

// Names that a report may hold. Whatever else a request has is client's text.
var (
	parts = []string{"tools", "instructions", "prompt", "messages", "input"}
	roles = []string{"system", "developer", "user", "assistant", "tool", "function"}
)

// known returns the constant that equals the name, or "other": what is kept must
// neither hold on to a request's body nor show what it says.
func known(s string, names []string) string {
	if s == "" {
		return ""
	}
	if i := slices.Index(names, s); i >= 0 {
		return names[i]
	}
	return "other"
}

const (
	// MaxSegments and maxText bound what is read of one prompt: it is beginnings
	// that repeat.
	MaxSegments = 24
	maxText     = 256 << 10
)

// piece is a part of a segment, small enough to say where two prompts part.
type piece struct {
	hash    uint64 // of everything up to its end
	segment int
	offset  int // in its segment, bytes
	size    int
	upTo    int  // bytes of the prompt up to its end
	last    bool // of its segment
}

// pieceSize is the size of the i-th piece of a segment, bytes: 64 up to 4 KiB, then
// twice as many every 32 pieces.
func pieceSize(i int) int {
	const even, growth = 64, 32
	if i < even {
		return 64
	}
	return 64 << (1 + (i-even)/growth)
}

// cut divides a prompt into pieces, which it adds to others. Segments end where a
// piece ends.
func cut(pieces []piece, prompt []Segment) []piece {
	var d xxhash.Digest
	d.Reset()
	upTo := 0
	for s := range prompt[:min(len(prompt), MaxSegments)] {
		seg := &prompt[s]
		for _, text := range []string{seg.Part, seg.Role} {
			_, _ = d.WriteString(text)
			_, _ = d.Write(boundary)
		}
		offset := 0
		for i := 0; ; i++ {
			size := min(pieceSize(i), len(seg.Text)-offset)
			_, _ = d.WriteString(seg.Text[offset : offset+size])
			upTo += size
			last := offset+size == len(seg.Text)
			if last {
				_, _ = d.Write(boundary)
			}
			pieces = append(pieces, piece{hash: d.Sum64(), segment: s, offset: offset, size: size, upTo: upTo, last: last})
			offset += size
			if last || upTo >= maxText {
				break
			}
		}
		if upTo >= maxText {
			break
		}
	}
	return pieces
}

// boundary parts what must not run into each other; it is no byte of UTF-8.
var boundary = []byte{0xff}
