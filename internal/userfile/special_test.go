//go:build unix

package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestNoFiles would hang or fill the memory, were such things opened.
func TestNoFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip("no pipes here:", err)
	}
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Fatal(err)
	}
	for path, what := range map[string]string{pipe: "a pipe", link: "a device"} {
		want := path + " is no regular file but " + what
		if _, err := Read(path, 9); !errors.Is(err, ErrNotRegular) || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
		if _, _, err := OpenFS(os.DirFS(dir), filepath.Base(path)); !errors.Is(err, ErrNotRegular) || !strings.HasSuffix(err.Error(), what) {
			t.Errorf("%v", err)
		}
	}
}
