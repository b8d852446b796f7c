package search

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
)

// Axis is what a sweep changes.
type Axis string

// The axes.
const (
	Rate        Axis = "rate"        // requests per second of an open loop
	Concurrency Axis = "concurrency" // requests in flight of a closed loop
)

// maxLoads bounds a sweep.
const maxLoads = 1000

// Sweep is a list of loads, ascending.
type Sweep struct {
	Axis  Axis
	Loads []float64
}

// ParseSweep reads
//
//	sweep = axis "=" loads
//	axis  = "rate" | "concurrency"
//	loads = load { "," load } | first ".." last [ ":" count ]
//
// such as rate=1,2,4,8, rate=1..64 (each twice the one before) or
// concurrency=1..256:5 (five loads with equal factors between them).
func ParseSweep(s string) (Sweep, error) {
	axis, text, ok := strings.Cut(strings.TrimSpace(s), "=")
	sweep := Sweep{Axis: Axis(strings.TrimSpace(axis))}
	if !ok || sweep.Axis != Rate && sweep.Axis != Concurrency {
		return Sweep{}, fmt.Errorf("parsing sweep %q, expected one like rate=1,2,4 or concurrency=1..256", s)
	}
	var err error
	if first, rest, ranged := strings.Cut(text, ".."); ranged {
		sweep.Loads, err = sweep.between(first, rest)
	} else {
		for part := range strings.SplitSeq(text, ",") {
			var load float64
			if load, err = sweep.parse(part); err != nil {
				break
			}
			sweep.Loads = append(sweep.Loads, load)
		}
	}
	if err != nil {
		return Sweep{}, fmt.Errorf("parsing sweep %q: %w", s, err)
	}
	slices.Sort(sweep.Loads)
	sweep.Loads = slices.Compact(sweep.Loads)
	if len(sweep.Loads) > maxLoads {
		return Sweep{}, fmt.Errorf("parsing sweep %q: %d loads, expected at most %d", s, len(sweep.Loads), maxLoads)
	}
	return sweep, nil
}

// between reads the end of a range, and its number of loads, and lists them.
func (s Sweep) between(first, rest string) ([]float64, error) {
	lastText, countText, counted := strings.Cut(rest, ":")
	low, err := s.parse(first)
	if err != nil {
		return nil, err
	}
	high, err := s.parse(lastText)
	if err != nil {
		return nil, err
	}
	if high < low {
		return nil, fmt.Errorf("the range ends at %g, below its start %g", high, low)
	}
	count := 1 + int(math.Ceil(math.Log2(high/low)-1e-9))
	factor := 2.0
	if counted {
		n, err := units.ParseCount(countText)
		if err != nil || n != math.Trunc(n) || n < 2 || n > maxLoads {
			return nil, fmt.Errorf("%q is not a number of loads from 2 to %d", countText, maxLoads)
		}
		count = int(n)
		factor = math.Pow(high/low, 1/(n-1))
	}
	loads := make([]float64, count)
	for i := range loads {
		loads[i] = s.rounded(min(low*math.Pow(factor, float64(i)), high))
	}
	loads[count-1] = high
	return loads, nil
}

func (s Sweep) parse(text string) (float64, error) {
	text = strings.TrimSpace(text)
	if s.Axis == Rate {
		rate, err := units.ParseRate(text)
		if err == nil && !(rate >= 1e-6 && rate <= 1e6) {
			err = fmt.Errorf("a rate of %s is out of range", text)
		}
		return rate, err
	}
	n, err := units.ParseCount(text)
	if err == nil && (n != math.Trunc(n) || n < 1 || n > 1<<24) {
		err = fmt.Errorf("a concurrency of %s is not a whole number of at least 1", text)
	}
	return n, err
}

func (s Sweep) rounded(load float64) float64 {
	if s.Axis == Concurrency {
		return math.Round(load)
	}
	return threeDigits(load)
}

// Knee is the index of the point with the largest power, throughput ÷ response
// time (Kleinrock 1979): beyond it more load buys more waiting than work. ok is
// false when fewer than three points have both, or the largest is the last: the
// knee was not reached.
func Knee(throughput, response []float64) (at int, ok bool) {
	best, last, n := -1, -1, 0
	for i := range throughput {
		if !(response[i] > 0) || !(throughput[i] >= 0) {
			continue
		}
		n++
		last = i
		if best < 0 || throughput[i]/response[i] > throughput[best]/response[best] {
			best = i
		}
	}
	return best, n >= 3 && best != last
}
