package iostreams

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := (pipe{w}).Write([]byte("plan")); n != 4 || err != nil {
		t.Errorf("a reader that ended: %d, %v", n, err)
	}
	if _, err := (pipe{failing{io.ErrShortWrite}}).Write([]byte("plan")); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("a full disk: %v", err)
	}
	var b bytes.Buffer
	if n, err := (pipe{&b}).Write([]byte("plan")); n != 4 || err != nil || b.String() != "plan" {
		t.Errorf("%d, %v, %q", n, err, b.String())
	}
}
