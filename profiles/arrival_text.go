package profiles

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ArrivalProcesses returns the names of the arrival processes.
func ArrivalProcesses() []string { return slices.Clone(processes) }

// ParseArrival reads an arrival process:
//
//	arrival   = process [ ":" part { "," part } ]
//	part      = parameter | step | n
//	parameter = ("rate" | "from" | "to" | "amplitude") "=" rate | ("over" | "period" | "ramp") "=" duration |
//	            ("cv" | "speed") "=" number | ("concurrency" | "count") "=" n
//	step      = rate [ "*" duration ]        of steps; the last one needs no duration
//	n         = whole number                 of closed and of users
//
// such as poisson, gamma:rate=20/s,cv=2, ramp:from=1,to=50,over=5m,
// steps:1/s*1m,5/s*2m, sine:rate=10/s,amplitude=5,period=60s, trace:speed=2,
// closed:64,ramp=30s or users:50.
func ParseArrival(s string) (Arrival, error) {
	name, rest, parts := strings.Cut(strings.TrimSpace(s), ":")
	process, err := parseProcess(name)
	if err != nil {
		return Arrival{}, err
	}
	a := Arrival{Process: process}
	if parts {
		err = a.readParts(rest)
	}
	if err == nil {
		err = a.Validate()
	}
	return a, wrapParse("arrival", s, err)
}

// readParts reads what stands behind the process.
func (a *Arrival) readParts(s string) error {
	var pairs, bare []string
	for part := range strings.SplitSeq(s, ",") {
		if strings.Contains(part, "=") {
			pairs = append(pairs, part)
		} else {
			bare = append(bare, part)
		}
	}
	switch name := map[ArrivalProcess]string{Closed: "concurrency", Users: "count"}[a.Process]; {
	case len(bare) == 0:
	case a.Process == Steps:
		if err := a.set("steps", strings.Join(bare, ",")); err != nil {
			return err
		}
	case name != "" && len(bare) == 1:
		pairs = append(pairs, name+"="+bare[0])
	default:
		return fmt.Errorf("expected name=value, got %q", bare[0])
	}
	if len(pairs) == 0 {
		return nil
	}
	return eachPair(strings.Join(pairs, ","), a.set)
}

func parseProcess(s string) (ArrivalProcess, error) {
	if slices.Contains(processes, s) {
		return ArrivalProcess(s), nil
	}
	return "", unknown("arrival process", s, processes, "expected one of "+strings.Join(processes, ", "))
}

// String writes the arrival as ParseArrival reads it; "" for none.
func (a Arrival) String() string {
	if a == (Arrival{}) {
		return ""
	}
	var parts []string
	for _, name := range arrivalNames {
		if !a.Said(name) {
			continue
		}
		if name == "steps" {
			parts = append(parts, a.Curve.String())
			continue
		}
		parts = append(parts, name+"="+a.text(name))
	}
	if len(parts) == 0 {
		return string(a.Process)
	}
	return string(a.Process) + ":" + strings.Join(parts, ",")
}

// text writes the value of a parameter as set reads it.
func (a Arrival) text(name string) string {
	switch p := a.parameter(name).(type) {
	case *float64:
		if name == "cv" || name == "speed" {
			return formatNumber(*p)
		}
		return formatNumber(*p) + "/s"
	case *time.Duration:
		if name == "ramp" && *p == AtOnce {
			return "0s"
		}
		return p.String()
	case *int:
		return strconv.Itoa(*p)
	case **Curve:
		return (*p).String()
	}
	return ""
}

// Words says the arrivals as one would in a sentence: poisson 6/s, 64 in flight,
// ramp from=1/s to=50/s over=5m0s.
func (a Arrival) Words() string {
	switch a.Process {
	case Closed:
		return strings.TrimSpace(fmt.Sprintf("%d in flight %s", a.Concurrency, a.rampWords()))
	case Users:
		return strings.TrimSpace(fmt.Sprintf("%d users %s", a.Count, a.rampWords()))
	}
	words := []string{string(a.Process)}
	for _, name := range arrivalNames {
		switch {
		case !a.Said(name):
		case name == "rate":
			words = append(words, fmt.Sprintf("%g/s", a.RatePerS))
		case name == "steps":
			words = append(words, a.Curve.String())
		default:
			words = append(words, name+"="+a.text(name))
		}
	}
	return strings.Join(words, " ")
}

func (a Arrival) rampWords() string {
	switch a.RampUp {
	case 0:
		return ""
	case AtOnce:
		return "from the start"
	}
	return fmt.Sprintf("after a ramp of %s", a.RampUp)
}
