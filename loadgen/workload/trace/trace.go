package trace

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

// Options say how a trace is read.
type Options struct {
	Format string // sharegpt, mooncake, azure, burstgpt or bodies; empty tells by the content
	Strict bool   // any broken row is an error
	// Start and Duration keep the requests of a part of the trace, as time since
	// its first row; no Duration reaches to the end.
	Start, Duration time.Duration
}

// reader reads the rows of one format into a builder.
type reader func(r *bufio.Reader, b *builder) error

var formats = map[string]reader{
	"sharegpt": readShareGPT,
	"mooncake": readMooncake,
	"azure":    readAzure,
	"burstgpt": readBurstGPT,
	"bodies":   readBodies,
}

// Formats returns the names of the formats that are read.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// Load reads a trace file, which may be compressed with gzip or zstd. Sessions
// are in order of Offset, which is 0 for all of them when the trace has no times.
// The report is there even with an error, unless the file can not be read at all.
func Load(path string, o Options) ([]workload.Session, *Report, error) {
	f, err := Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading trace: %w", err)
	}
	defer func() { _ = f.Close() }() // nothing was written
	sessions, report, err := Read(f, path, o)
	if err != nil {
		return nil, report, fmt.Errorf("reading trace %s: %w", path, err)
	}
	return sessions, report, nil
}

// Read is Load of an open file; its name is for the report alone.
func Read(r io.Reader, name string, o Options) ([]workload.Session, *Report, error) {
	b := newBuilder(name, o)
	if o.Start < 0 || o.Duration < 0 {
		return nil, b.report, fmt.Errorf("a part of %s from %s on, expected none below 0", o.Duration, o.Start)
	}
	in := bufio.NewReaderSize(r, sniffed)
	skipMark(in)
	format := o.Format
	if format == "" {
		var err error
		if format, err = detect(in); err != nil {
			return nil, b.report, err
		}
	}
	read, ok := formats[format]
	if !ok {
		return nil, b.report, fmt.Errorf("format %q is not known, expected one of %s%s",
			format, strings.Join(Formats(), ", "), profiles.DidYouMean(format, Formats()))
	}
	b.report.Format = format
	if err := read(in, b); err != nil {
		return nil, b.report, err
	}
	sessions, err := b.finish()
	return sessions, b.report, err
}

// skipMark passes over a byte order mark.
func skipMark(in *bufio.Reader) {
	if head, _ := in.Peek(3); string(head) == "\ufeff" {
		_, _ = in.Discard(3) // it is buffered
	}
}

var errEmpty = errors.New("the file is empty")
