package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/reports/record"
)

// Reason is why a run ended as it did, in the terms of an exit code.
type Reason int

const (
	Held            Reason = iota // done, and every condition asked for held
	Interrupted                   // ended by the user; what was measured is reported
	Damaged                       // the saved records are not those of the run
	ClientLimited                 // the client was the bottleneck
	Aborted                       // broken off by a rule, since going on would have shown nothing
	TooManyFailures               // more requests failed than was allowed
	NothingMeasured               // no request of the window had output or failed
	SLOMissed                     // an SLO that the user asked for did not hold
	AssertFailed                  // an assertion did not hold
)

// String names the reason.
func (r Reason) String() string {
	return [...]string{"held", "interrupted", "damaged", "client-limited", "broken off", "too many failures", "nothing measured", "SLO missed", "assertion failed"}[r]
}

// Verdict is the judgement of a run: the reason and a line that explains it.
type Verdict struct {
	Reason Reason
	Text   string
}

// untrusted is the reason of that name, as a document holds it.
func untrusted(name string) Reason {
	for r := range AssertFailed {
		if r.String() == name && !(Verdict{Reason: r}).Trustworthy() {
			return r
		}
	}
	return Damaged
}

// Trustworthy is false when the numbers do not say what they seem to.
func (v Verdict) Trustworthy() bool {
	switch v.Reason {
	case Damaged, ClientLimited, Aborted, TooManyFailures, NothingMeasured:
		return false
	}
	return true
}

// Verdict judges the run by the first of these that applies: its files are
// damaged; it was interrupted; its numbers, or those of a half of its
// experiment, can not be trusted; an SLO that the user asked for was missed; an
// assertion failed. A condition is not judged by numbers that can not be
// trusted, so a failed assertion on a client-limited run is client-limited. The
// default SLO is reported but never judged by.
func (r *Report) Verdict() Verdict {
	q := r.Requests
	if damage := r.damage(); damage != "" {
		return Verdict{Damaged, damage}
	}
	switch {
	case r.Interrupted:
		return Verdict{Interrupted, "interrupted; the report is of what was measured until then"}
	case r.Client.Limited:
		return Verdict{ClientLimited, "client-limited: " + strings.Join(r.Client.Reasons, "; ")}
	case r.aborted() != "":
		return Verdict{Aborted, r.aborted()}
	case q.FailedShare != nil && *q.FailedShare > q.MaxFailures:
		return Verdict{TooManyFailures, fmt.Sprintf("%s, more than %s", q.failedText(), percent(q.MaxFailures))}
	case q.OK == 0 && q.Failed == 0 && r.TTFT == nil:
		return Verdict{NothingMeasured, "no request of the window had output"}
	}
	if v := r.Experiment.doubt(); v.Reason != Held {
		return v
	}
	switch {
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

// damage is what is wrong with the files that the report was made from, empty
// when nothing is. That a killed process cut the last record is not: the run is
// known to be unfinished.
func (r *Report) damage() string {
	killed := slices.ContainsFunc(r.Warnings, func(w record.Warning) bool { return w.Code == record.Unfinished })
	for _, w := range r.Warnings {
		expected := killed && w.Code == record.RecordsTruncated
		if w.Damage() && !expected {
			return "damaged: " + w.Text
		}
	}
	return ""
}

// aborted is why the load generator broke the run off, empty when it did not.
func (r *Report) aborted() string {
	for _, w := range r.Warnings {
		if w.Code == record.Aborted {
			return w.Text
		}
	}
	return ""
}

// doubt is why one half of an experiment can not be trusted, Held when both can:
// a ratio is worth no more than the worse of its sides.
func (e *Experiment) doubt() Verdict {
	if e == nil {
		return Verdict{}
	}
	for _, v := range e.Variants {
		if !v.Trusted {
			return Verdict{untrusted(v.Verdict), fmt.Sprintf("the %s half: %s", v.Name, v.Verdict)}
		}
	}
	return Verdict{}
}

// missed names the first objective that was not reached.
func (s *SLO) missed() string {
	for _, o := range s.Objectives {
		if o.OK != nil && !*o.OK {
			if o.Attainment == nil {
				return o.unmeasured()
			}
			text := fmt.Sprintf("attainment %s, target %s", percent(*o.Attainment), percent(o.Target))
			if o.Class != "" {
				text = o.Class + ": " + text
			}
			return text
		}
	}
	return "no objective reached"
}

// unmeasured explains an objective without requests.
func (o Objective) unmeasured() string {
	if o.Class == "" {
		return "no request was measured"
	}
	return "no request of class " + o.Class + " was measured"
}

// explain is an assertion with what the run said to it.
func (a AssertResult) explain() string {
	if a.Value == nil {
		return a.Text + ": " + a.Reason
	}
	return fmt.Sprintf("%s, measured %s", a.Text, a.measured())
}
