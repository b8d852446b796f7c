package usage

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// owner marks a SQLite file as the one of this process, by a lock on a file beside it
// (on the database itself it could meet SQLite's own). The system lets go of a lock
// whose holder dies, so a crash leaves no false mark behind. It keeps nobody out, since
// a new gateway may start while the one before it still drains; it only tells.
type owner struct {
	file *os.File // nil where none can be kept
	held bool
}

// own marks the SQLite file at path, and returns who else has, or nothing.
func own(path string) (o owner, other string) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	f, err := os.OpenFile(path+".owner", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return owner{}, "" // there is more to say about that folder when the first records are written
	}
	o.file = f
	if o.take() {
		return o, ""
	}
	said, _ := io.ReadAll(io.LimitReader(f, 256)) // what cannot be read is not known
	if other = strings.TrimSpace(string(said)); other == "" {
		other = "another process"
	}
	return o, other
}

// take marks the file unless another process has, and reports whether that worked.
func (o *owner) take() bool {
	if o.file == nil || o.held {
		return o.held
	}
	if o.held = lock(o.file); !o.held {
		return false
	}
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	// The lock counts; the words are only for people.
	if err := o.file.Truncate(0); err == nil {
		_, _ = o.file.WriteAt(fmt.Appendf(nil, "process %d on %s since %s\n", os.Getpid(), host, time.Now().UTC().Format(time.RFC3339)), 0)
	}
	return true
}

// close lets go of the mark.
func (o *owner) close() {
	if o.file != nil {
		_ = o.file.Close() // with it goes the lock
	}
}
