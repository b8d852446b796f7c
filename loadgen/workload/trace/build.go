package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// Bounds of what a trace may say and of what is kept of it.
const (
	maxTokens  = 1e8     // of one prompt or answer; a model of ten million exists
	maxKept    = 4 << 30 // bytes of all sessions
	perRequest = 256     // bytes of a session with one turn, without its texts
	maxSeconds = 9e9     // since whatever a trace counts from: 285 years, as much as nanoseconds in 64 bits hold
)

var errTooLarge = fmt.Errorf("it takes more than %s of memory; read a part of it", units.Bytes(maxKept))

// builder makes sessions of rows.
type builder struct {
	o        Options
	report   *Report
	sessions []workload.Session
	turns    []workload.Turn // room for turns of sessions to come
	kept     int64           // bytes, about

	begun bool
	base  int64 // time of the first row, in nanoseconds
	last  int64 // the latest time so far

	disorder, disorderLine int
	noted                  map[string]bool
}

func newBuilder(name string, o Options) *builder {
	return &builder{o: o, report: &Report{File: name}, noted: map[string]bool{}}
}

// full reports whether no more may be kept.
func (b *builder) full() bool { return b.kept > maxKept }

func (b *builder) broken(line, column int, reason, value string) {
	b.report.Broken = count(b.report.Broken, line, column, reason, value)
}

func (b *builder) leaveOut(line, column int, reason, value string) {
	b.report.LeftOut = count(b.report.LeftOut, line, column, reason, value)
}

// note says once what is assumed.
func (b *builder) note(text string) {
	if !b.noted[text] {
		b.noted[text] = true
		b.report.Notes = append(b.report.Notes, text)
	}
}

// at turns a row's time, in nanoseconds since anything, into its offset; in is
// false for a row outside of the part that is asked for.
func (b *builder) at(t int64, line int) (offset time.Duration, in bool) {
	if !b.begun {
		b.begun, b.base, b.last = true, t, t
		b.report.Timed = true
	}
	if t < b.last {
		b.disorder++
		if b.disorder == 1 {
			b.disorderLine = line
		}
	}
	b.last = max(b.last, t)
	offset = time.Duration(t-b.base) - b.o.Start
	// Without a part, a row before the first one belongs to the trace too.
	whole := b.o.Start == 0 && b.o.Duration == 0
	return offset, whole || offset >= 0 && (b.o.Duration == 0 || offset < b.o.Duration)
}

// begin adds a session with its first turn and returns its index.
func (b *builder) begin(offset time.Duration, t workload.Turn) int {
	if len(b.turns) == cap(b.turns) {
		b.turns = make([]workload.Turn, 0, 4096)
	}
	t.Group = workload.NoGroup
	b.turns = append(b.turns, t)
	own := b.turns[len(b.turns)-1 : len(b.turns) : len(b.turns)]
	b.sessions = append(b.sessions, workload.Session{Offset: offset, Turns: own})
	b.weigh(t)
	return len(b.sessions) - 1
}

// proceed adds a turn to a session.
func (b *builder) proceed(session int, t workload.Turn) {
	t.Group = workload.NoGroup
	s := &b.sessions[session]
	s.Turns = append(s.Turns, t)
	b.weigh(t)
}

func (b *builder) weigh(t workload.Turn) {
	b.report.Requests++
	b.kept += perRequest + int64(len(t.Text)) + int64(len(t.Body)) + 8*int64(len(t.Hashes))
}

// finish orders the sessions, and judges the trace.
func (b *builder) finish() ([]workload.Session, error) {
	r := b.report
	r.Sessions = len(b.sessions)
	if b.disorder > 0 {
		b.note(fmt.Sprintf("timestamps before one above them: %s, the first at line %d; the requests were sorted",
			units.Count(int64(b.disorder)), b.disorderLine))
	}
	part := b.o.Start > 0 || b.o.Duration > 0
	if err := r.check(b.o.Strict); err != nil {
		if part && r.Timed && r.Sessions == 0 {
			err = fmt.Errorf("%w, in the part from %s after the first row on", err, b.o.Start)
		}
		return nil, err
	}
	if !r.Timed && part {
		return nil, errors.New("a part by time is asked for, and the trace has no times")
	}
	slices.SortStableFunc(b.sessions, func(x, y workload.Session) int { return cmp.Compare(x.Offset, y.Offset) })
	first := min(0, b.sessions[0].Offset)
	for i := range b.sessions {
		b.sessions[i].Index = int64(i)
		b.sessions[i].Offset -= first
	}
	r.Span = b.sessions[len(b.sessions)-1].Offset - b.sessions[0].Offset
	return b.sessions, nil
}

// tokens reads a count of tokens; reason is empty when it is one.
func tokens(s string) (n int, reason string) {
	n, err := strconv.Atoi(s)
	switch {
	case err == nil:
		return n, absurd(n)
	case errors.Is(err, strconv.ErrRange):
		return 0, "absurd count of tokens"
	}
	// Some tools that rewrite tables make 374.0 of 374.
	if v, err := strconv.ParseFloat(s, 64); err == nil && v == math.Trunc(v) && math.Abs(v) <= maxTokens {
		return int(v), absurd(int(v))
	}
	return 0, "no count of tokens"
}

func absurd(n int) string {
	switch {
	case n < 0:
		return "negative count of tokens"
	case n > maxTokens:
		return "absurd count of tokens"
	}
	return ""
}

// estimate is the usual rule of thumb for the tokens of a text: four bytes each
// (https://help.openai.com/en/articles/4936856: "1 token ~= 4 characters in
// English").
func estimate(bytes int) int { return max(1, (bytes+3)/4) }

// noteEstimate is what a report says where estimate is used.
const noteEstimate = "lengths of texts are estimated, 4 bytes a token"
