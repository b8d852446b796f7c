package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// Assert is a condition on the numbers of a run.
//
//	assert   = subject op value .
//	subject  = stat "(" metric ")" | metric .
//	stat     = "p" number | "mean" | "max" | "n" | "rate" .        p0 to p100
//	op       = "<" | "<=" | ">" | ">=" | "==" .
//	value    = number [ unit ] .
//
// Times (ttft, ttft_from_schedule, ttfo, tpot, icl, e2e, lag) take p, mean, max
// or n, and a value with a unit of time, as 500ms; n takes a count, as 2k.
// failures takes n, or rate with a share, as 1% or 0.01. The other metrics stand
// without a stat: goodput (4/s), attainment (99% or 0.99), output_tokens_per_s
// (1.5k), prefix_hit_rate (50%), usd_per_1m_output_tokens ($0.50 or 0.5).
type Assert struct {
	Text   string // as typed, without blanks around it
	Stat   string // "p", "mean", "max", "n", "rate" or empty
	P      float64
	Metric string
	Op     string
	Value  float64 // seconds, a share of one, requests per second, dollars or a count
	kind   valueKind
}

// AssertResult is an assertion and what the run says to it. Value is absent when
// the run does not define the metric; the assertion then did not hold, and
// Reason says why.
type AssertResult struct {
	Text   string   `json:"text"`
	Value  *float64 `json:"value,omitempty"`
	OK     bool     `json:"ok"`
	Reason string   `json:"reason,omitempty"`
}

// valueKind is how the value of an assertion is written.
type valueKind int

const (
	timeValue valueKind = iota
	countValue
	shareValue
	rateValue
	moneyValue
)

// assertMetrics are the metrics of the grammar and the kind of their values
// where they stand alone; times always need a stat.
var assertMetrics = []struct {
	name string
	kind valueKind
}{
	{"ttft", timeValue},
	{"ttft_from_schedule", timeValue},
	{"ttfo", timeValue},
	{"tpot", timeValue},
	{"icl", timeValue},
	{"e2e", timeValue},
	{"lag", timeValue},
	{"failures", countValue},
	{"goodput", rateValue},
	{"attainment", shareValue},
	{"output_tokens_per_s", countValue},
	{"prefix_hit_rate", shareValue},
	{"usd_per_1m_output_tokens", moneyValue},
}

// ParseAssert reads one assertion. Its error names what was expected.
func ParseAssert(s string) (Assert, error) {
	a := Assert{Text: strings.TrimSpace(s)}
	wrap := func(err error) (Assert, error) { return Assert{}, fmt.Errorf("parsing assertion %q: %w", s, err) }
	at := strings.IndexAny(a.Text, "<>=")
	if at < 0 {
		return wrap(fmt.Errorf("no comparison, expected one like p99(ttft) < 500ms"))
	}
	subject, rest := strings.TrimSpace(a.Text[:at]), a.Text[at:]
	a.Op = rest[:1]
	if len(rest) > 1 && rest[1] == '=' {
		a.Op = rest[:2]
	}
	if a.Op == "=" {
		return wrap(fmt.Errorf("unknown comparison =, expected < <= > >= or =="))
	}
	var err error
	if a.kind, err = a.parseSubject(subject); err != nil {
		return wrap(err)
	}
	if a.Value, err = parseValue(strings.TrimSpace(rest[len(a.Op):]), a.kind); err != nil {
		return wrap(err)
	}
	return a, nil
}

// parseSubject reads STAT(METRIC) or METRIC and returns the kind of value that
// it is compared with.
func (a *Assert) parseSubject(s string) (valueKind, error) {
	a.Metric = s
	if stat, rest, found := strings.Cut(s, "("); found {
		metric, tail, closed := strings.Cut(rest, ")")
		if !closed || strings.TrimSpace(tail) != "" {
			return 0, fmt.Errorf("no closing bracket after %q", s)
		}
		a.Stat, a.Metric = strings.ToLower(strings.TrimSpace(stat)), strings.TrimSpace(metric)
		if err := a.parseStat(); err != nil {
			return 0, err
		}
	}
	a.Metric = strings.ToLower(a.Metric)
	names := make([]string, len(assertMetrics))
	for i, m := range assertMetrics {
		names[i] = m.name
		if m.name == a.Metric {
			return a.kindOf(m.kind)
		}
	}
	return 0, fmt.Errorf("unknown metric %q%s", a.Metric, didYouMean(a.Metric, names))
}

// parseStat checks the statistic and takes the percentile out of it.
func (a *Assert) parseStat() error {
	stats := []string{"mean", "max", "n", "rate"}
	for _, s := range stats {
		if a.Stat == s {
			return nil
		}
	}
	if digits, found := strings.CutPrefix(a.Stat, "p"); found {
		p, err := strconv.ParseFloat(digits, 64)
		if err == nil && p >= 0 && p <= 100 {
			a.Stat, a.P = "p", p
			return nil
		}
	}
	return fmt.Errorf("unknown statistic %q%s", a.Stat, didYouMean(a.Stat, append(stats, "p50", "p90", "p95", "p99")))
}

// kindOf checks that the statistic suits the metric.
func (a *Assert) kindOf(metric valueKind) (valueKind, error) {
	switch {
	case metric == timeValue:
		switch a.Stat {
		case "n":
			return countValue, nil
		case "p", "mean", "max":
			return timeValue, nil
		case "":
			return 0, fmt.Errorf("%s needs a statistic, as in p99(%s)", a.Metric, a.Metric)
		}
	case a.Metric == "failures":
		switch a.Stat {
		case "n":
			return countValue, nil
		case "rate":
			return shareValue, nil
		case "":
			return 0, fmt.Errorf("failures needs a statistic: n(failures) or rate(failures)")
		}
	case a.Stat == "":
		return metric, nil
	default:
		return 0, fmt.Errorf("%s stands without a statistic", a.Metric)
	}
	return 0, fmt.Errorf("%s does not apply to %s", a.Stat, a.Metric)
}

func parseValue(s string, kind valueKind) (v float64, err error) {
	switch kind {
	case timeValue:
		d, err := units.ParseDuration(s)
		return d.Seconds(), err
	case shareValue:
		digits, isPercent := strings.CutSuffix(s, "%")
		if v, err = strconv.ParseFloat(strings.TrimSpace(digits), 64); err != nil {
			return 0, fmt.Errorf("parsing share %q, expected one like 99%% or 0.99", s)
		}
		if isPercent {
			v /= 100
		}
		if v < 0 || v > 1 {
			return 0, fmt.Errorf("share %q is not between 0 and 1, expected one like 99%% or 0.99", s)
		}
	case rateValue:
		v, err = units.ParseRate(s)
	case moneyValue:
		v, err = units.ParseCount(strings.TrimPrefix(s, "$"))
	default:
		v, err = units.ParseCount(strings.TrimSuffix(s, "/s"))
	}
	if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
		return 0, fmt.Errorf("value %q is not a number", s)
	}
	return v, err
}

// Holds compares a value with the assertion's own.
func (a Assert) Holds(v float64) bool {
	switch a.Op {
	case "<":
		return v < a.Value
	case "<=":
		return v <= a.Value
	case ">":
		return v > a.Value
	case ">=":
		return v >= a.Value
	default:
		return v == a.Value
	}
}

// didYouMean names what s probably is, or else what it may be.
func didYouMean(s string, names []string) string {
	if near := profiles.DidYouMean(s, names); near != "" {
		return near
	}
	return ", expected one of " + strings.Join(names, ", ")
}
