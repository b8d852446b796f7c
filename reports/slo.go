package reports

import (
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// DefaultAttainment is the share of requests that must be good when an SLO does
// not say.
const DefaultAttainment = 0.99

// SLO is how the run stands against its objectives. Attainment is good ÷
// counted, over all objectives together; OK is whether each objective reaches
// its own target among the requests of its class.
type SLO struct {
	Default    bool        `json:"default,omitempty"` // nobody asked for it: reported, not judged by
	Objectives []Objective `json:"objectives"`
	Clauses    []Clause    `json:"clauses"`
	Good       int         `json:"good"`
	Counted    int         `json:"counted"` // ok + failed + dropped + late
	Late       int         `json:"late"`    // cut or cancelled after a clause was already broken
	Attainment *float64    `json:"attainment,omitempty"`
	GoodputRPS *float64    `json:"goodput_rps,omitempty"`
	OK         *bool       `json:"ok,omitempty"`
}

// Objective is one SLO as given: the clauses of a class hold together for a
// share of its requests. One that the user asked for and under which no request
// counts does not hold.
type Objective struct {
	Class      string   `json:"class,omitempty"`
	Target     float64  `json:"target"`
	Counted    int      `json:"counted"` // requests that it judged
	Attainment *float64 `json:"attainment,omitempty"`
	OK         *bool    `json:"ok,omitempty"`
}

// Clause is one bound and the share of requests that met it, among the ok
// requests for which it is defined and the late ones that broke it.
type Clause struct {
	Class  string   `json:"class,omitempty"`
	Metric string   `json:"metric"` // ttft, tpot, e2e or ttfo
	BoundS float64  `json:"bound_s"`
	N      int      `json:"n"`
	Met    int      `json:"met"`
	Share  *float64 `json:"share,omitempty"`
	OK     *bool    `json:"ok,omitempty"` // share ≥ the target of its objective
}

// judge counts good requests.
type judge struct {
	objectives          []objective
	good, counted, late int
}

type objective struct {
	class         string
	target        float64
	clauses       []clause
	good, counted int
}

type clause struct {
	name    string
	bound   time.Duration
	measure func(*record.Record) (time.Duration, bool)
	// pending is set for clauses on a moment that has not come yet: a request
	// that ends without it has broken the clause once the bound has passed.
	pending func(*record.Record) bool
	n, met  int
}

func newJudge(slos []record.SLO) judge {
	var j judge
	for _, s := range slos {
		o := objective{class: s.Class, target: s.Attainment}
		if o.target == 0 {
			o.target = DefaultAttainment
		}
		for _, c := range []clause{
			{name: "ttft", bound: s.TTFT, measure: (*record.Record).TTFT, pending: func(r *record.Record) bool { return !r.First.Known() }},
			{name: "ttfo", bound: s.TTFO, measure: (*record.Record).TTFO, pending: func(r *record.Record) bool { return !r.FirstVisible.Known() }},
			{name: "tpot", bound: s.TPOT, measure: (*record.Record).TPOT},
			{name: "e2e", bound: s.E2E, measure: (*record.Record).E2E, pending: func(*record.Record) bool { return true }},
		} {
			if c.bound > 0 {
				o.clauses = append(o.clauses, c)
			}
		}
		if len(o.clauses) > 0 {
			j.objectives = append(j.objectives, o)
		}
	}
	return j
}

// add judges one request of the window and reports whether it is good: ok, with
// every clause that applies held. end is the end of the window, at which a cut
// request without a closing moment was still running.
func (j *judge) add(r *record.Record, end time.Duration) (good bool) {
	if len(j.objectives) == 0 {
		return false
	}
	counted, late := false, false
	good = r.Outcome == record.OK
	for i := range j.objectives {
		o := &j.objectives[i]
		if o.class != "" && o.class != r.Class {
			continue
		}
		held, broken := o.check(r, elapsed(r, end))
		switch r.Outcome {
		case record.OK, record.Failed, record.Dropped:
			o.counted++
			counted = true
		default:
			if !broken {
				continue
			}
			o.counted++
			counted, late = true, true
		}
		if held && r.Outcome == record.OK {
			o.good++
		} else {
			good = false
		}
	}
	if !counted {
		return false
	}
	j.counted++
	if late {
		j.late++
	}
	if good {
		j.good++
	}
	return good
}

// elapsed is how long a request had been running when it ended; 0 when it was
// never sent.
func elapsed(r *record.Record, end time.Duration) time.Duration {
	sent, ok := r.Sent.Since()
	last, _ := r.End().Since()
	if !ok {
		return 0
	}
	if r.Outcome == record.Cut && !r.Closed.Known() {
		last = max(last, end)
	}
	return last - sent
}

// check evaluates the clauses: held means that each one that applies is met,
// broken that an unfinished request could not have met one any more.
func (o *objective) check(r *record.Record, elapsed time.Duration) (held, broken bool) {
	held = true
	ok := r.Outcome == record.OK
	for i := range o.clauses {
		c := &o.clauses[i]
		value, defined := c.measure(r)
		switch {
		case ok:
			if defined {
				c.n++
				if value <= c.bound {
					c.met++
				} else {
					held = false
				}
			}
		case r.Outcome == record.Failed || r.Outcome == record.Dropped:
			// Counted as not good whatever its times were.
		case c.brokenBy(r, value, defined, elapsed):
			c.n++
			broken = true
		}
	}
	return held, broken
}

// brokenBy reports whether a request that was cut or cancelled had already
// broken the clause. TPOT so far counts only where tokens were counted: events
// that carry several tokens would make it look slower than it was.
func (c *clause) brokenBy(r *record.Record, value time.Duration, defined bool, elapsed time.Duration) bool {
	if c.pending != nil && c.pending(r) {
		return elapsed > c.bound
	}
	if c.pending == nil && r.TokensSource == record.FromChunk {
		return false
	}
	return defined && value > c.bound
}

// report is the SLO section, nil when there is no objective.
func (j *judge) report(run record.Run, window float64) *SLO {
	if len(j.objectives) == 0 {
		return nil
	}
	s := &SLO{Default: run.SLODefault, Good: j.good, Counted: j.counted, Late: j.late,
		Attainment: ratio(float64(j.good), float64(j.counted)), GoodputRPS: ratio(float64(j.good), window)}
	for _, o := range j.objectives {
		out := Objective{Class: o.class, Target: o.target, Counted: o.counted, Attainment: ratio(float64(o.good), float64(o.counted))}
		out.OK = reaches(o.good, o.counted, o.target)
		if out.OK == nil && !run.SLODefault {
			out.OK = new(bool) // asked for, and nothing shows that it holds
		}
		if out.OK != nil {
			all := (s.OK == nil || *s.OK) && *out.OK
			s.OK = &all
		}
		s.Objectives = append(s.Objectives, out)
		for _, c := range o.clauses {
			s.Clauses = append(s.Clauses, Clause{Class: o.class, Metric: c.name, BoundS: inSeconds(c.bound), N: c.n, Met: c.met,
				Share: ratio(float64(c.met), float64(c.n)), OK: reaches(c.met, c.n, o.target)})
		}
	}
	return s
}

// reaches reports whether part ÷ whole ≥ target, nil when whole is 0.
func reaches(part, whole int, target float64) *bool {
	if whole == 0 {
		return nil
	}
	// The slack lets 99 of 100 reach 0.99, whatever its binary form.
	ok := float64(part) >= float64(target*float64(whole))-1e-9
	return &ok
}
