package reports

import (
	"fmt"
	"strings"
)

// Reason is why a run ended as it did, in the terms of an exit code.
type Reason int

const (
	Held            Reason = iota // done, and every condition asked for held
	Interrupted                   // ended by the user; what was measured is reported
	ClientLimited                 // the client was the bottleneck
	TooManyFailures               // more requests failed than was allowed
	NothingMeasured               // no request of the window had output or failed
	SLOMissed                     // an SLO that the user asked for did not hold
	AssertFailed                  // an assertion did not hold
)

// String names the reason.
func (r Reason) String() string {
	return [...]string{"held", "interrupted", "client-limited", "too many failures", "nothing measured", "SLO missed", "assertion failed"}[r]
}

// Verdict is the judgement of a run: the reason and a line that explains it.
type Verdict struct {
	Reason Reason
	Text   string
}

// Trustworthy is false when the numbers do not say what they seem to.
func (v Verdict) Trustworthy() bool {
	return v.Reason != ClientLimited && v.Reason != TooManyFailures && v.Reason != NothingMeasured
}

// Verdict judges the run by the first of these that applies: it was interrupted;
// its numbers can not be trusted; an SLO that the user asked for was missed; an
// assertion failed. A condition is not judged by numbers that can not be
// trusted, so a failed assertion on a client-limited run is client-limited. The
// default SLO is reported but never judged by.
func (r *Report) Verdict() Verdict {
	q := r.Requests
	switch {
	case r.Interrupted:
		return Verdict{Interrupted, "interrupted; the report is of what was measured until then"}
	case r.Client.Limited:
		return Verdict{ClientLimited, "client-limited: " + strings.Join(r.Client.Reasons, "; ")}
	case q.FailedShare != nil && *q.FailedShare > q.MaxFailures:
		return Verdict{TooManyFailures, fmt.Sprintf("%s, more than %s", q.failedText(), percent(q.MaxFailures))}
	case q.OK == 0 && q.Failed == 0 && r.TTFT == nil:
		return Verdict{NothingMeasured, "no request of the window had output"}
	case r.SLO != nil && !r.SLO.Default && r.SLO.OK != nil && !*r.SLO.OK:
		return Verdict{SLOMissed, "SLO missed: " + r.SLO.missed()}
	}
	for _, a := range r.Asserts {
		if !a.OK {
			return Verdict{AssertFailed, "assertion failed: " + a.explain()}
		}
	}
	return Verdict{Reason: Held}
}

// missed names the first objective that was not reached.
func (s *SLO) missed() string {
	for _, o := range s.Objectives {
		if o.OK != nil && !*o.OK {
			text := fmt.Sprintf("attainment %s, target %s", percent(*o.Attainment), percent(o.Target))
			if o.Class != "" {
				text = o.Class + ": " + text
			}
			return text
		}
	}
	return "no objective reached"
}

// explain is an assertion with what the run said to it.
func (a AssertResult) explain() string {
	if a.Value == nil {
		return a.Text + ": " + a.Reason
	}
	return fmt.Sprintf("%s, measured %s", a.Text, a.measured())
}
