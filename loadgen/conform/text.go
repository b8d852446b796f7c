package conform

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

var marks = map[Verdict]string{Pass: "✓", Fail: "✗", Skip: "–"}

// colors are SGR codes: green, red, faint.
var colors = map[Verdict]string{Pass: "\x1b[32m", Fail: "\x1b[31m", Skip: "\x1b[2m"}

// WriteText writes a report for people: a line a case by group, then what failed
// and what was skipped, with reasons. Lines are at most width wide, where words
// allow.
func WriteText(w io.Writer, r *Report, width int, color bool) error {
	r = r.printable()
	t := text{width: width, color: color}
	t.line(0, fmt.Sprintf("%s, model %s, suite %s", r.Endpoint, r.Model, r.Suite))
	group := ""
	for i := range r.Results {
		c := &r.Results[i]
		if of, _, _ := strings.Cut(c.ID, "/"); of != group {
			group = of
			t.line(0, "")
			t.line(0, group)
		}
		t.result(c)
	}
	t.line(0, "")
	t.line(0, r.Said())
	t.failed(r)
	t.skipped(r)
	_, err := io.WriteString(w, t.String())
	return err
}

// Said is the report in one sentence.
func (r *Report) Said() string {
	s := r.Summary
	said := fmt.Sprintf("%d passed, %d skipped, failed: %d must, %d should, %d info; %d requests in %.1f s",
		s.Passed, s.Skipped, s.FailedMust, s.FailedShould, s.FailedInfo, r.Requests, r.Seconds)
	if r.Interrupted {
		return "interrupted: " + said
	}
	return said
}

// text is a report in the making.
type text struct {
	strings.Builder
	width int
	color bool
}

// line writes a text, with its further lines below its first one.
func (t *text) line(indent int, s string) { t.entry("", indent, s) }

// entry writes a text with something before its first line, which is as wide as
// its indent.
func (t *text) entry(before string, indent int, s string) {
	blank := strings.Repeat(" ", indent)
	if before == "" {
		before = blank
	}
	for i, line := range strings.Split(ansi.Wordwrap(s, max(20, t.width-indent), ""), "\n") {
		if i > 0 {
			before = blank
		}
		t.WriteString(strings.TrimRight(before+line, " ") + "\n")
	}
}

// nameWidth is that of the longest name of a case, without its group.
const nameWidth = 21

func (t *text) result(c *Result) {
	_, name, _ := strings.Cut(c.ID, "/")
	mark := marks[c.Verdict]
	if t.color {
		mark = colors[c.Verdict] + mark + "\x1b[0m"
	}
	before := fmt.Sprintf("  %s %-*s ", mark, nameWidth, name)
	t.entry(before, nameWidth+5, c.Title)
}

func (t *text) failed(r *Report) {
	for i := range r.Results {
		c := &r.Results[i]
		if c.Verdict != Fail {
			continue
		}
		t.line(0, "")
		t.entry("✗ ", 2, fmt.Sprintf("%s (%s): %s", c.ID, c.Level, c.Title))
		why := c.Why
		if c.Issue != "" {
			why += " (" + c.Issue + ")"
		}
		for _, part := range [][2]string{{"sent", c.Sent}, {"expected", c.Expected}, {"seen", c.Seen}, {"why", why}} {
			t.entry(fmt.Sprintf("    %-10s", part[0]), 14, part[1])
		}
	}
}

func (t *text) skipped(r *Report) {
	if r.Summary.Skipped > 0 {
		t.line(0, "")
	}
	for i := range r.Results {
		if c := &r.Results[i]; c.Verdict == Skip {
			t.entry("– ", 2, c.ID+": "+c.Reason)
		}
	}
}
