package profiles

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxTurns bounds the requests of a session.
const maxTurns = 10_000

// TraceFormats are the names of the layouts of traces, in the order in which they
// are listed.
var TraceFormats = []string{"sharegpt", "mooncake", "azure", "burstgpt", "bodies"}

// Single reports whether sessions have one request each.
func (s Session) Single() bool {
	return s.Turns == Distribution{} || s.Turns.Kind == Fixed && s.Turns.Mean == 1
}

// MeanTurns is the mean number of requests of a session, 1 when nothing is said.
func (s Session) MeanTurns() float64 {
	if s.Turns == (Distribution{}) {
		return 1
	}
	return s.Turns.Average()
}

// Longest is a number of tokens, prompt and output together, that hardly any
// request exceeds: of the last turn of a long session, in which the turns before
// are of average length. It is 0 where a trace has the lengths.
func (w Workload) Longest() float64 {
	tokens := w.Input.Largest() + w.Output.Largest()
	if w.Session.Single() {
		return tokens
	}
	turn := max(1, w.Input.Average()-float64(w.Prefix.Tokens)) + w.Output.Average()
	return tokens + (w.Session.Turns.Largest()-1)*turn
}

func (s *Session) readYAML(node *yaml.Node) error {
	return readMapping(node, "session", key{"turns", s.Turns.readYAML}, key{"think", s.Think.readYAML})
}

// check reports the first value that makes no sense; a file of turns need not
// have been read.
func (s Session) check() error {
	if s.Turns != (Distribution{}) {
		if err := s.Turns.check(); err != nil {
			return fmt.Errorf("turns: %w", err)
		}
		if unread := s.Turns.Kind == Empirical && len(s.Turns.Samples.Values) == 0; !unread && s.Turns.Largest() > maxTurns {
			return fmt.Errorf("turns: %v are more than %d", s.Turns.Largest(), maxTurns)
		}
	}
	if err := s.Think.Validate(); err != nil {
		return fmt.Errorf("think: %w", err)
	}
	return nil
}

func (s Session) yaml() mapping {
	out := mapping{}
	out.nested("turns", s.Turns.yaml())
	out.value("think", s.Think.yaml())
	return out
}

// ParseCancel reads which requests are abandoned, such as fraction=0.02,after=2s
// or fraction=0.1,after=exponential:mean=5s. After comes last.
func ParseCancel(s string) (Cancel, error) {
	// A delay may hold commas and = of its own.
	head, after, ok := strings.Cut(s, "after=")
	if !ok {
		return Cancel{}, fmt.Errorf("parsing cancel %q, expected one like fraction=0.02,after=2s", s)
	}
	var c Cancel
	err := eachPair(strings.TrimSuffix(strings.TrimSpace(head), ","), func(name, value string) (err error) {
		if name != "fraction" {
			return unknown("cancel parameter", name, []string{"fraction", "after"}, "expected fraction and after")
		}
		c.Fraction, err = number(value)
		return err
	})
	if err == nil {
		c.After, err = ParseDelay(after)
	}
	if err == nil {
		err = c.Validate()
	}
	return c, wrapParse("cancel", s, err)
}

func (c *Cancel) readYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return into(c, ParseCancel)(node)
	}
	err := readMapping(node, "cancel", key{"fraction", into(&c.Fraction, number)}, key{"after", c.After.readYAML})
	if err != nil {
		return err
	}
	return c.Validate()
}

// Validate reports the first value that makes no sense, or that misses the
// other. The zero Cancel is fine.
func (c Cancel) Validate() error {
	switch {
	case !(c.Fraction >= 0 && c.Fraction <= 1):
		return fmt.Errorf("fraction %v is outside 0 to 1", c.Fraction)
	case c.Fraction > 0 && c.After == Delay{}:
		return fmt.Errorf("fraction %v needs after, the time at which users leave", c.Fraction)
	case c.Fraction == 0 && c.After != Delay{}:
		return fmt.Errorf("after needs a fraction above 0 of requests that are abandoned")
	}
	if err := c.After.Validate(); err != nil {
		return fmt.Errorf("after: %w", err)
	}
	return nil
}

// String writes the cancellation as ParseCancel reads it; "" for none.
func (c Cancel) String() string {
	if c == (Cancel{}) {
		return ""
	}
	return "fraction=" + formatNumber(c.Fraction) + ",after=" + c.After.String()
}

func (c Cancel) yaml() mapping {
	out := mapping{}
	out.number("fraction", c.Fraction)
	out.value("after", c.After.yaml())
	return out
}

func (t *Trace) readYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		return into(&t.File, parsePath)(node)
	}
	err := readMapping(node, "trace", key{"file", into(&t.File, parsePath)}, key{"format", into(&t.Format, ParseTraceFormat)})
	if err == nil && t.File == "" {
		err = fmt.Errorf("a trace needs a file")
	}
	return err
}

// ParseTraceFormat reads the name of a layout of traces.
func ParseTraceFormat(s string) (string, error) {
	for _, known := range TraceFormats {
		if s == known {
			return s, nil
		}
	}
	return "", unknown("trace format", s, TraceFormats, "expected one of "+strings.Join(TraceFormats, ", "))
}

// Validate reports a file or a format that is none. The zero Trace is fine.
func (t Trace) Validate() error {
	if t == (Trace{}) {
		return nil
	}
	if err := checkPath(t.File); err != nil {
		return err
	}
	if t.Format == "" {
		return nil
	}
	_, err := ParseTraceFormat(t.Format)
	return err
}

func (t Trace) yaml() mapping {
	out := mapping{}
	out.text("file", t.File)
	out.text("format", t.Format)
	return out
}
