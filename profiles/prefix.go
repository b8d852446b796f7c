package profiles

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// ParsePrefix reads which part of the prompts is shared:
//
//	prefix     = "none" | parameter { "," parameter }
//	parameter  = "groups=" n | "tokens=" n | "popularity=" popularity
//	popularity = "uniform" | "zipf(" exponent ")"
func ParsePrefix(s string) (Prefix, error) {
	var p Prefix
	if strings.TrimSpace(s) == "none" {
		return Prefix{None: true}, nil
	}
	for pair := range strings.SplitSeq(s, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if !ok {
			return Prefix{}, fmt.Errorf("parsing prefix %q: expected name=value, got %q", s, pair)
		}
		if err := p.set(name, value); err != nil {
			return Prefix{}, wrapParse("prefix", s, err)
		}
	}
	return p.said(), wrapParse("prefix", s, p.Validate())
}

// said marks a prefix that someone wrote down: groups=0 is then no omission.
func (p Prefix) said() Prefix {
	p.None = p.Groups == 0
	return p
}

func (p *Prefix) set(name, value string) (err error) {
	switch name {
	case "groups":
		p.Groups, err = parseWhole(name, value)
	case "tokens":
		p.Tokens, err = parseWhole(name, value)
	case "popularity":
		p.Popularity, err = parsePopularity(value)
	default:
		known := []string{"groups", "tokens", "popularity"}
		return unknown("prefix parameter", name, known, "expected "+strings.Join(known, ", "))
	}
	return err
}

// Validate reports the first value that makes no sense.
func (p Prefix) Validate() error {
	switch {
	case p.None && p.Groups > 0:
		return fmt.Errorf("groups %d contradict a prefix that is not shared", p.Groups)
	case p.Groups < 0 || p.Groups > 10_000_000:
		return fmt.Errorf("groups %d is outside 0 to 10,000,000", p.Groups)
	case p.Tokens < 0 || p.Tokens > maxLength:
		return fmt.Errorf("tokens %d is outside 0 to %s", p.Tokens, units.Count(maxLength))
	case (p.Groups > 0) != (p.Tokens > 0):
		return fmt.Errorf("groups %d and tokens %d must both be above 0, or both 0", p.Groups, p.Tokens)
	case !(p.Popularity >= 0 && p.Popularity <= 10):
		return fmt.Errorf("popularity %v is outside 0 to 10", p.Popularity)
	}
	return nil
}

// String writes the prefix as ParsePrefix reads it.
func (p Prefix) String() string {
	if p.Groups == 0 {
		return "none"
	}
	s := fmt.Sprintf("groups=%d,tokens=%d", p.Groups, p.Tokens)
	if p.Popularity > 0 {
		s += ",popularity=" + formatPopularity(p.Popularity)
	}
	return s
}

// parsePopularity reads "uniform" or "zipf(1.1)".
func parsePopularity(s string) (float64, error) {
	s = strings.TrimSpace(s)
	if s == "uniform" {
		return 0, nil
	}
	inner, ok := strings.CutPrefix(s, "zipf(")
	inner, closed := strings.CutSuffix(inner, ")")
	v, err := strconv.ParseFloat(inner, 64)
	if !ok || !closed || err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("popularity %q is neither uniform nor like zipf(1.1)", s)
	}
	return v, nil
}

func formatPopularity(v float64) string {
	if v == 0 {
		return "uniform"
	}
	return "zipf(" + formatNumber(v) + ")"
}

// parseWhole reads a whole number of things.
func parseWhole(name, s string) (int, error) {
	v, err := units.ParseCount(s)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if v != math.Trunc(v) || math.Abs(v) > maxLength {
		return 0, fmt.Errorf("%s %s is not a whole number up to %s", name, s, units.Count(maxLength))
	}
	return int(v), nil
}
