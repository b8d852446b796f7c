package corpus

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

var write = flag.String("write", "", "file to write the lines to")

// Hashes of tokens say something only of these very lines.
func TestLinesAreTheSame(t *testing.T) {
	h := sha256.New()
	if err := Write(h); err != nil {
		t.Fatal(err)
	}
	const want = "21bf223dc3eee380ab30ce6570a07518bcbef0d09e984188eadd8098530aaba5"
	if got := fmt.Sprintf("%x", h.Sum(nil)); got != want {
		t.Errorf("hash of the lines: %s, want %s; the hashes of their tokens have to be made anew", got, want)
	}
	if *write == "" {
		return
	}
	f, err := os.Create(*write)
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(f); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestLinesAreText(t *testing.T) {
	lines := Lines()
	if len(lines) != Count {
		t.Fatalf("%d lines, want %d", len(lines), Count)
	}
	different := map[string]bool{}
	for i, line := range lines {
		different[line] = true
		if !utf8.ValidString(line) || strings.Contains(line, Separator) || line == "" {
			t.Errorf("line %d: %q", i, line)
		}
	}
	if len(different) < Count*9/10 {
		t.Errorf("%d different lines of %d", len(different), Count)
	}
}

func TestHashesTellWhichLinesDiffer(t *testing.T) {
	lines := Lines()[:3*Per]
	encode := func(text string) []int32 { return []int32{int32(len(text)), 7} }
	before := Hashes(lines, encode)
	lines[Per+1] += "!"
	after := Hashes(lines, encode)
	if len(before) != 3 || before[0] != after[0] || before[1] == after[1] || before[2] != after[2] {
		t.Errorf("before %v, after %v", before, after)
	}
}

func TestHashesAreThereForAllLines(t *testing.T) {
	if got := len(SmolLM2()); got != Count/Per {
		t.Errorf("%d hashes, want %d", got, Count/Per)
	}
}
