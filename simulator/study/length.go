package study

import (
	"fmt"
	"math"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Length is how long a simulation lasts in virtual time. What is not said is
// chosen for the load: see the constants.
type Length struct {
	Duration time.Duration // of the measurement; 0 is not said
	Requests int           // in the place of Duration; 0 is not said
	Warmup   time.Duration // before it; negative is not said
	Drain    time.Duration // after it
}

// Defaults of a length. The p99 of n requests rests on n/100 of them, and is thin
// with fewer than five; fifty are enough for it to differ little between seeds.
const (
	enoughRequests = 5000
	leastDuration  = 2 * time.Minute
	leastWarmup    = 30 * time.Second
	mostWarmup     = 10 * time.Minute // but for a ramp of clients
	warmupShare    = 20               // of the duration: a twentieth
	roundsOfLoop   = 20               // requests per slot of a closed loop
	roundsOfRamp   = 2                // times the ramp of a closed loop: until all have come in, and have had a request
)

// Words is the length for people.
func (l Length) Words() string {
	if l.Requests > 0 {
		return fmt.Sprintf("%d requests", l.Requests)
	}
	if l.Duration == 0 {
		return "as long as the trace"
	}
	return l.Duration.String()
}

func (s *Study) assumeLength(name, value, flag string) {
	s.chosen = append(s.chosen, sizing.Assumption{Name: name, Value: value, Flag: flag})
}

// complete fills in what was not said.
func (l Length) complete(s *Study) (Length, error) {
	s.chosen = nil
	s.spreadClients()
	a := s.request.Sizing.Scenario.Workload.Arrival
	shaped := a.Process == profiles.TraceArrival || a.Process == profiles.Ramp || a.Process == profiles.Steps
	if l.Requests == 0 && l.Duration == 0 {
		if err := l.choose(s, a); err != nil {
			return l, err
		}
	}
	if l.Warmup < 0 {
		l.Warmup = max(leastWarmup, min(l.Duration/warmupShare, mostWarmup), roundsOfRamp*min(a.RampUp, cost.Never)).Round(time.Second)
		if shaped || s.overrun() {
			l.Warmup = 0 // it would take the beginning of the shape away, or wait for a steady state that never comes
		}
		s.assumeLength("warm-up", l.Warmup.String(), "--warmup")
	}
	return l, l.check(s)
}

// check refuses a length that goes beyond the end of virtual time.
func (l Length) check(s *Study) error {
	a := s.request.Sizing.Scenario.Workload.Arrival
	seconds := l.Warmup.Seconds() + l.Drain.Seconds()
	switch {
	case l.Requests == 0:
		seconds += l.Duration.Seconds()
	case a.RatePerS > 0:
		seconds += float64(l.Requests) / a.RatePerS
	}
	if most := cost.Never; !(seconds < most.Seconds()) {
		return fmt.Errorf("the simulation would last %.3g years of virtual time, expected less than %.0f: lower --duration, --requests, --warmup or --drain, or raise the rate",
			seconds/year, most.Seconds()/year)
	}
	return nil
}

const year = 365 * 24 * 3600 // seconds

// choose is the length when nobody says.
func (l *Length) choose(s *Study, a profiles.Arrival) error {
	rate := a.RatePerS
	switch a.Process {
	case profiles.TraceArrival:
		return l.ofTrace(s)
	case profiles.Closed, profiles.Users:
		l.Requests = max(enoughRequests, roundsOfLoop*(a.Concurrency+a.Count))
		s.assumeLength("requests", fmt.Sprint(l.Requests), "--requests or --duration")
		return nil
	case profiles.Ramp:
		rate = (a.FromPerS + a.ToPerS) / 2
		l.Duration = min(a.Over, cost.Never) + leastDuration
	case profiles.Steps:
		rate = 0
		for _, step := range a.Curve.Steps {
			rate = max(rate, step.RatePerS)
			l.Duration = min(l.Duration, cost.Never) + min(max(step.For, leastDuration), cost.Never)
		}
	case profiles.Sine:
		l.Duration = 2 * min(a.Period, cost.Never)
	}
	if rate > 0 {
		enough := cost.Duration(math.Ceil(enoughRequests / rate))
		l.Duration = max(l.Duration, leastDuration, enough)
	}
	s.assumeLength("duration", l.Duration.String(), "--duration or --requests")
	return nil
}

// ofTrace is as long as the trace; one that others never end beside is ended with
// its last session.
func (l *Length) ofTrace(s *Study) error {
	s.assumeLength("length", "the whole trace", "--duration or --requests")
	last := time.Duration(0)
	endless := false
	for i := range 1 + len(s.request.Sizing.Scenario.Also) {
		stream, err := s.stream(i, 1)
		if err != nil {
			return err
		}
		n, finite := stream.Len()
		endless = endless || !finite
		if i == 0 && n > 0 {
			last = stream.Offset(n - 1)
		}
	}
	if endless {
		l.Duration = max(last, leastDuration)
	}
	return nil
}

// stream is the i-th of the scenario's workloads: 0 is the main one. Each has
// chance of its own.
func (s *Study) stream(i int, seed uint64) (*workload.Stream, error) {
	r := &s.request
	if i == 0 {
		return workload.New(r.Sizing.Scenario.Workload, workload.Options{Seed: seed, Recorded: r.Sizing.Recorded, UniquePrefixes: r.UniquePrefixes})
	}
	o := workload.Options{Seed: seed + uint64(i)<<32, UniquePrefixes: r.UniquePrefixes}
	if i-1 < len(r.Also) {
		o.Recorded = r.Also[i-1]
	}
	return workload.New(r.Sizing.Scenario.Also[i-1], o)
}

// Length is how long a simulation of the study lasts.
func (s *Study) Length() Length { return s.request.Length }

// Expected is about how many requests a simulation sends.
func (s *Study) Expected() int64 {
	l := s.request.Length
	if l.Requests > 0 {
		return int64(l.Requests)
	}
	rate := 0.0
	sc := s.request.Sizing.Scenario
	for _, w := range append([]profiles.Workload{sc.Workload}, sc.Also...) {
		switch a := w.Arrival; a.Process {
		case profiles.Ramp:
			rate += max(a.FromPerS, a.ToPerS)
		case profiles.Steps:
			for _, step := range a.Curve.Steps {
				rate = max(rate, step.RatePerS)
			}
		default:
			rate += a.RatePerS
		}
	}
	return int64(rate * (l.Warmup + l.Duration).Seconds())
}
