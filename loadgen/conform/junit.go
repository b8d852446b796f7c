package conform

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
)

// The elements of JUnit's report format, as CI systems read it.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Name    string       `xml:"name,attr"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     string      `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
		seconds  float64
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure"`
		Skipped *junitMessage `xml:"skipped"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// WriteJUnit writes a report as JUnit's XML, a test suite a group. Failures of a
// level below counts are given as skipped, with what was seen: JUnit knows no
// failure that does not fail.
func WriteJUnit(w io.Writer, r *Report, counts Level) error {
	all := junitSuites{Name: "llmctl conform " + r.Endpoint}
	for i := range r.Results {
		c := &r.Results[i]
		group, _, _ := strings.Cut(c.ID, "/")
		if n := len(all.Suites); n == 0 || all.Suites[n-1].Name != group {
			all.Suites = append(all.Suites, junitSuite{Name: group})
		}
		all.Suites[len(all.Suites)-1].add(c, counts)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return fmt.Errorf("encoding JUnit's XML: %w", err)
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(c *Result, counts Level) {
	one := junitCase{Class: "conform." + s.Name, Name: c.ID, Time: fmt.Sprintf("%.3f", c.Seconds)}
	switch {
	case c.Verdict == Skip:
		one.Skipped = &junitMessage{Message: c.Reason}
	case c.Verdict == Fail && !c.Level.AtLeast(counts):
		one.Skipped = &junitMessage{Message: fmt.Sprintf("does not hold (%s): %s", c.Level, c.Seen)}
	case c.Verdict == Fail:
		one.Failure = &junitMessage{
			Message: c.Title + ": " + c.Seen, Type: string(c.Level),
			Text: fmt.Sprintf("sent: %s\nexpected: %s\nseen: %s\nwhy: %s\n", c.Sent, c.Expected, c.Seen, c.Why),
		}
	}
	if one.Skipped != nil {
		s.Skipped++
	}
	if one.Failure != nil {
		s.Failures++
	}
	s.Tests++
	s.seconds += c.Seconds
	s.Time = fmt.Sprintf("%.3f", s.seconds)
	s.Cases = append(s.Cases, one)
}
