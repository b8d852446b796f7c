package mapped

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBytesAreTheFiles(t *testing.T) {
	for _, tc := range []struct {
		name   string
		size   int
		mapped bool
	}{
		{"empty", 0, false},
		{"one byte", 1, false},
		{"largest that is read", readBelow - 1, false},
		{"smallest that is mapped", readBelow, true},
		{"no whole number of pages", readBelow + 4097, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			want := make([]byte, tc.size)
			for i := range want {
				want[i] = byte(i * 7 >> 3)
			}
			path := filepath.Join(t.TempDir(), "file")
			if err := os.WriteFile(path, want, 0o600); err != nil {
				t.Fatal(err)
			}
			f, err := Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.unmap != nil; got != tc.mapped {
				t.Errorf("mapped: %t, want %t", got, tc.mapped)
			}
			if !bytes.Equal(f.Bytes(), want) {
				t.Error("the bytes are others")
			}
			for range 2 {
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
			if f.Bytes() != nil {
				t.Error("bytes after Close")
			}
		})
	}
}

// A file that is replaced, not written over, keeps its bytes.
func TestAReplacedFileKeepsItsBytes(t *testing.T) {
	dir := t.TempDir()
	path, other := filepath.Join(dir, "file"), filepath.Join(dir, "other")
	if err := errors.Join(os.WriteFile(path, bytes.Repeat([]byte{1}, readBelow), 0o600), os.WriteFile(other, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Rename(other, path); err != nil {
		t.Skipf("this system does not replace a mapped file: %v", err)
	}
	if !bytes.Equal(f.Bytes(), bytes.Repeat([]byte{1}, readBelow)) {
		t.Error("the bytes changed")
	}
}

func TestWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Open(dir); err == nil || !strings.Contains(err.Error(), "is no regular file but a folder") {
		t.Error(err)
	}
}
