package reload

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/userfile"
)

// File is a configuration file and the gateway that follows it. It is safe for
// concurrent use.
type File struct {
	path string
	log  *slog.Logger
	now  func() time.Time
	read func(path string) ([]byte, error)

	mu      sync.Mutex // one reload at a time
	apply   func(*config.Config) error
	started *config.Config // what the process listens on and stores to
	seen    content        // what the latest reload read
	status  Status
	warned  []string // of the configuration in use
	counts  map[Result]int
}

// Options are a file's dependencies. Each has a default.
type Options struct {
	Logger *slog.Logger                      // nil discards
	Now    func() time.Time                  // time.Now
	Read   func(path string) ([]byte, error) // up to a megabyte of a regular file
}

// Result is how a reload ended.
type Result string

const (
	Loaded     Result = "ok"
	Refused    Result = "refused"    // the old configuration stays
	Unreadable Result = "unreadable" // there is no file, or none that can be read; the old configuration stays
)

// Status is what is in use, and how the latest reload went.
type Status struct {
	Path   string
	Hash   string    // beginning of the SHA-256 of the content in use, hexadecimal
	Loaded time.Time // since when it is in use
	Tried  time.Time // when the latest reload was
	Err    string    // why the latest reload was refused; empty if it was not
	// Restart are the keys that the file has changed and that only a restart
	// brings into use.
	Restart []string
}

// Open reads a configuration file for the first time.
func Open(path string, o Options) (*File, *config.Config, error) {
	f := &File{path: path, log: o.Logger, now: o.Now, read: o.Read, counts: map[Result]int{}}
	if f.log == nil {
		f.log = slog.New(slog.DiscardHandler)
	}
	if f.now == nil {
		f.now = time.Now
	}
	if f.read == nil {
		f.read = func(path string) ([]byte, error) { return userfile.Read(path, userfile.YAMLLimit) }
	}
	f.seen = f.look()
	if f.seen.err != nil {
		return nil, nil, f.seen.err
	}
	c, err := config.Parse(f.seen.data)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	now := f.now()
	f.started = c
	f.warn(c)
	f.status = Status{Path: path, Hash: hash(f.seen.data), Loaded: now, Tried: now}
	return f, c, nil
}

// Apply says who takes new configurations. Before, reloads are refused.
func (f *File) Apply(to func(*config.Config) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.apply = to
}

// Status tells what is in use.
func (f *File) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// Reload reads the file and brings it into use, also when its content is what it
// was: environment variables and certificates may have changed. On an error the
// old configuration stays.
func (f *File) Reload() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.take(f.look())
}

// take brings a content into use.
func (f *File) take(now content) error {
	f.seen = now
	result, err := Loaded, now.err
	if err != nil {
		result = Unreadable
	} else if err = f.bring(now.data); err != nil {
		result, err = Refused, fmt.Errorf("%s: %w", f.path, err)
	}
	f.counts[result]++
	f.status.Tried = f.now()
	if err != nil {
		f.status.Err = err.Error()
		f.log.Error("configuration refused, the old one stays", "error", err.Error(), "hash", f.status.Hash)
		return err
	}
	f.status.Err, f.status.Hash, f.status.Loaded = "", hash(now.data), f.status.Tried
	f.log.Info("configuration loaded", "path", f.path, "hash", f.status.Hash)
	if keys := f.status.Restart; len(keys) > 0 {
		f.log.Warn("these keys have changed and stay as they were until a restart", "keys", keys)
	}
	return nil
}

func (f *File) bring(data []byte) error {
	c, err := config.Parse(data)
	if err != nil {
		return err
	}
	if f.apply == nil {
		return errors.New("the gateway has not started yet")
	}
	if err := f.apply(c); err != nil {
		return err
	}
	f.status.Restart = config.Restart(f.started, c)
	f.warn(c)
	return nil
}

// warn tells what the author of a configuration may not expect and has not heard.
func (f *File) warn(c *config.Config) {
	all := c.Warnings()
	for _, text := range all {
		if !slices.Contains(f.warned, text) {
			f.log.Warn(text)
		}
	}
	f.warned = all
}

// hash is long enough to tell configurations apart, and short enough to read out.
func hash(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}
