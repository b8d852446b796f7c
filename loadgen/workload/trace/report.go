package trace

import (
	"fmt"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/units"
)

// Report is what was read, what was not, and what was assumed.
type Report struct {
	File     string
	Format   string
	Rows     int // lines or conversations read, a header not counted
	Sessions int // in the result
	Requests int // in the result
	// Broken are rows that could not be understood. LeftOut are rows that are
	// right but hold nothing to send, such as requests that have failed.
	Broken, LeftOut []Skip
	Notes           []string      // what was assumed, one sentence each
	Timed           bool          // the trace says when requests came
	Span            time.Duration // from the first session to the last one
}

// Skip counts the rows that were skipped for one reason.
type Skip struct {
	Reason       string
	Count        int
	Line, Column int    // of the first one, from 1
	Value        string // that the first one has there; empty where it says nothing
}

// maxBroken is the share of broken rows above which a trace is refused: it is
// likely another format then. A few rows of a short trace, fewBroken of them, are
// no such share, unless they are half of it.
const (
	maxBroken = 0.01
	fewBroken = 3
)

// String says why and where.
func (s Skip) String() string {
	text := fmt.Sprintf("line %d, column %d: %s", s.Line, s.Column, s.Reason)
	if s.Value != "" {
		text += fmt.Sprintf(" %.40q", s.Value)
	}
	return text
}

// Skipped describes each reason for which rows were skipped, one line each.
func (r *Report) Skipped() []string {
	var out []string
	for _, kind := range []struct {
		skips []Skip
		text  string
	}{{r.Broken, "broken and skipped"}, {r.LeftOut, "left out"}} {
		for _, s := range kind.skips {
			where := ", the first one"
			if s.Count == 1 {
				where = ""
			}
			out = append(out, fmt.Sprintf("trace %s: %s of %s rows %s%s at %s", r.File, units.Count(int64(s.Count)),
				units.Count(int64(r.Rows)), kind.text, where, s))
		}
	}
	return out
}

// check is the error of a trace that is not good enough.
func (r *Report) check(strict bool) error {
	broken := total(r.Broken)
	switch {
	case r.Rows == 0:
		return errEmpty
	case broken > 0 && strict:
		return fmt.Errorf("%s, and no broken row is allowed", r.Broken[0])
	case float64(broken) > max(maxBroken*float64(r.Rows), fewBroken) || 2*broken >= r.Rows:
		return fmt.Errorf("%s of %s rows are broken, more than the %.0f%%, or %d rows, that are skipped: %s",
			units.Count(int64(broken)), units.Count(int64(r.Rows)), 100*maxBroken, fewBroken, r.Broken[0])
	case r.Sessions == 0:
		var why []string
		for _, s := range r.LeftOut {
			why = append(why, s.String())
		}
		return fmt.Errorf("none of %s rows has a request to send%s", units.Count(int64(r.Rows)), strings.Join(append([]string{""}, why...), ": "))
	}
	return nil
}

func total(skips []Skip) (n int) {
	for _, s := range skips {
		n += s.Count
	}
	return n
}

// count adds a row to the reason that it has.
func count(skips []Skip, line, column int, reason, value string) []Skip {
	for i := range skips {
		if skips[i].Reason == reason {
			skips[i].Count++
			return skips
		}
	}
	return append(skips, Skip{Reason: reason, Count: 1, Line: line, Column: column, Value: value})
}
