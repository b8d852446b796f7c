package profiles

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/units"
)

// DefaultAttainment is the share of requests that must meet an SLO when it does
// not say.
const DefaultAttainment = 0.99

// maxBound is the longest bound that an SLO may have.
const maxBound = 24 * time.Hour

// ParseSLO reads one objective:
//
//	slo    = [ class ":" ] clause { "," clause }
//	clause = ("ttft" | "tpot" | "e2e" | "ttfo") "=" duration | "attainment=" share
//
// such as ttft=500ms,tpot=50ms or batch:e2e=60s,attainment=0.95. An SLO without
// an attainment has attainment 0, which Target reads as the default.
func ParseSLO(s string) (SLO, error) {
	var slo SLO
	clauses := strings.TrimSpace(s)
	if class, rest, ok := strings.Cut(clauses, ":"); ok {
		slo.Class, clauses = strings.TrimSpace(class), rest
		if !isName(slo.Class) {
			return SLO{}, fmt.Errorf("parsing SLO %q: class %q is not a name of letters, digits, - and _", s, slo.Class)
		}
	}
	seen := map[string]bool{}
	for clause := range strings.SplitSeq(clauses, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(clause), "=")
		if !ok {
			return SLO{}, fmt.Errorf("parsing SLO %q: expected name=value, got %q", s, clause)
		}
		if seen[name] {
			return SLO{}, fmt.Errorf("parsing SLO %q: %s is given twice", s, name)
		}
		seen[name] = true
		if err := slo.set(name, value); err != nil {
			return SLO{}, wrapParse("SLO", s, err)
		}
	}
	return slo, wrapParse("SLO", s, slo.Validate())
}

// bound returns the field of a clause's name, nil when there is none.
func (s *SLO) bound(name string) *time.Duration {
	switch name {
	case "ttft":
		return &s.TTFT
	case "tpot":
		return &s.TPOT
	case "e2e":
		return &s.E2E
	case "ttfo":
		return &s.TTFO
	}
	return nil
}

// sloClauses are the bounds in the order in which they are written.
var sloClauses = []string{"ttft", "tpot", "e2e", "ttfo"}

func (s *SLO) set(name, value string) error {
	if name == "attainment" {
		v, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil || !(v > 0 && v <= 1) {
			return fmt.Errorf("attainment %q is outside 0 to 1", value)
		}
		s.Attainment = v
		return nil
	}
	bound := s.bound(name)
	if bound == nil {
		known := append(append([]string{}, sloClauses...), "attainment")
		return unknown("SLO clause", name, known, "expected one of "+strings.Join(known, ", "))
	}
	d, err := units.ParseDuration(value)
	if err != nil {
		return err
	}
	if d <= 0 || d > maxBound {
		return fmt.Errorf("%s %s is outside 0 to %s", name, value, maxBound)
	}
	*bound = d
	return nil
}

// Validate reports an SLO without a bound, or with one out of range.
func (s SLO) Validate() error {
	bounds := 0
	for _, name := range sloClauses {
		d := *s.bound(name)
		if d < 0 || d > maxBound {
			return fmt.Errorf("%s %s is outside 0 to %s", name, d, maxBound)
		}
		if d > 0 {
			bounds++
		}
	}
	if bounds == 0 {
		return fmt.Errorf("no bound given, expected one like ttft=500ms")
	}
	if math.IsNaN(s.Attainment) || s.Attainment < 0 || s.Attainment > 1 {
		return fmt.Errorf("attainment %v is outside 0 to 1", s.Attainment)
	}
	return nil
}

// Target is the share of requests that must meet the bounds.
func (s SLO) Target() float64 {
	if s.Attainment == 0 {
		return DefaultAttainment
	}
	return s.Attainment
}

// String writes the SLO as ParseSLO reads it.
func (s SLO) String() string {
	var parts []string
	for _, name := range sloClauses {
		if d := *s.bound(name); d > 0 {
			parts = append(parts, name+"="+d.String())
		}
	}
	if s.Attainment > 0 {
		parts = append(parts, "attainment="+formatNumber(s.Attainment))
	}
	text := strings.Join(parts, ",")
	if s.Class != "" {
		text = s.Class + ":" + text
	}
	return text
}

// isName reports whether s is a name of letters, digits, - and _.
func isName(s string) bool { return namePattern.MatchString(s) }

var namePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)
