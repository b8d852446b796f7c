package reload

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"
)

// Settle is how long a new content has to stay as it is before it is taken: who
// writes a file in place may be half-way through, and half a configuration can
// look like a whole one with fewer tenants.
const Settle = 200 * time.Millisecond

// content is what one look at the file saw.
type content struct {
	data []byte
	err  error
}

func (c content) equal(other content) bool {
	if c.err != nil || other.err != nil {
		return c.err != nil && other.err != nil && c.err.Error() == other.err.Error()
	}
	return bytes.Equal(c.data, other.data)
}

func (f *File) look() content {
	data, err := f.read(f.path)
	if err != nil {
		err = fmt.Errorf("reading the configuration: %w", err)
	}
	return content{data, err}
}

// known tells whether a content is what the latest reload read.
func (f *File) known(c content) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return c.equal(f.seen)
}

// Run reloads at each of the signals, and when the content of the file is another
// than it was. It looks every so often, by content and not by time or inode, so
// that a Kubernetes ConfigMap, whose symbolic link is swapped, is seen as well as an
// editor that renames; never if every is 0. It returns when ctx ends. What cannot
// be used is told once, not at every look.
func (f *File) Run(ctx context.Context, every time.Duration, signals <-chan os.Signal) {
	var looks <-chan time.Time
	if every > 0 {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		looks = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-signals:
			_ = f.Reload() // has told what is wrong
		case <-looks:
			if now := f.look(); !f.known(now) && f.settled(ctx, now) {
				_ = f.Reload()
			}
		}
	}
}

// settled waits a little and tells whether the file still has that content.
func (f *File) settled(ctx context.Context, now content) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(Settle):
	}
	return now.equal(f.look())
}
