package corpus

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
)

// Count is the number of lines.
const Count = 10_000

// Separator follows each line in a file: lines hold line breaks themselves.
const Separator = "\x1e\n"

// Lines are the texts. All are valid UTF-8 and none holds a Separator.
func Lines() []string {
	r := rand.New(rand.NewPCG(20261130, 7))
	lines := make([]string, Count)
	for i := range lines {
		var b strings.Builder
		for range 1 + r.IntN(8) {
			kinds[r.IntN(len(kinds))](&b, r)
		}
		lines[i] = b.String()
	}
	return lines
}

// Write writes the lines to a file that other programs can read.
func Write(w io.Writer) error {
	for _, line := range Lines() {
		if _, err := io.WriteString(w, line+Separator); err != nil {
			return err
		}
	}
	return nil
}

// Per is how many lines share a hash.
const Per = 100

// Hashes are those of the tokens that lines have by encode: SHA-256, of which the
// first 16 hexadecimal digits count, of the numbers of a line in decimal, with a
// space between two and a line feed after each line.
func Hashes(lines []string, encode func(text string) []int32) []string {
	var hashes []string
	var text []byte
	for from := 0; from < len(lines); from += Per {
		text = text[:0]
		for _, line := range lines[from:min(from+Per, len(lines))] {
			for i, token := range encode(line) {
				if i > 0 {
					text = append(text, ' ')
				}
				text = strconv.AppendInt(text, int64(token), 10)
			}
			text = append(text, '\n')
		}
		sum := sha256.Sum256(text)
		hashes = append(hashes, hex.EncodeToString(sum[:8]))
	}
	return hashes
}
