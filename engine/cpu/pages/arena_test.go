package pages

import (
	"testing"
	"unsafe"

	"pgregory.net/rapid"
)

func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// TestPiecesAreZeroedAlignedAndApart fills every piece with its own number, and looks
// whether all keep theirs.
func TestPiecesAreZeroedAlignedAndApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(1, 100_000)), 1, 50).Draw(t, "sizes")
		var a Arena
		var pieces [][]byte
		for i, n := range sizes {
			b := a.Bytes(n)
			if len(b) != n {
				t.Fatalf("asked for %d bytes, got %d", n, len(b))
			}
			if at := address(b); at%line != 0 {
				t.Fatalf("piece %d begins at %#x", i, at)
			}
			for j := range b {
				if b[j] != 0 {
					t.Fatalf("byte %d of piece %d is %d already", j, i, b[j])
				}
				b[j] = byte(i + 1)
			}
			pieces = append(pieces, append(b, byte(i+1))[:n]) // within its capacity, or a copy
		}
		for i, b := range pieces {
			for j := range b {
				if b[j] != byte(i+1) {
					t.Fatalf("byte %d of piece %d became %d", j, i, b[j])
				}
			}
		}
	})
}

func TestLargeChunksAreWholeHugePages(t *testing.T) {
	for _, n := range []int{huge, huge + 1, 3*huge - 5} {
		b := chunkOf(n)
		if at := address(b); at%huge != 0 || len(b)%huge != 0 || len(b) < n || len(b) >= n+huge {
			t.Errorf("%d bytes: got %d at %#x", n, len(b), at)
		}
	}
}

func TestSmallArenasStaySmall(t *testing.T) {
	var a Arena
	a.Bytes(100)
	a.Bytes(100)
	if n := cap(a.free); n > 1024 {
		t.Errorf("%d bytes lie ready after 200 were handed out", n)
	}
}
