package loadgen

import "fmt"

// failureSpan is over how many requests the share of failures is taken, and
// failureGrace how many must have ended before it is judged: the first few
// requests of a healthy run may all fail, thirty do not.
const (
	failureSpan  = 100
	failureGrace = 30
)

// failureRule breaks off a run most of whose recent requests failed.
type failureRule struct {
	limit  float64 // share, 0..1; 0 is no rule
	recent [failureSpan]bool
	ended  int // in all
	failed int // of the recent ones
}

// add notes how a request ended; why is set when the run is to be broken off.
func (f *failureRule) add(failed bool) (why string) {
	if f.limit == 0 {
		return ""
	}
	slot := &f.recent[f.ended%failureSpan]
	if *slot {
		f.failed--
	}
	if *slot = failed; failed {
		f.failed++
	}
	f.ended++
	n := min(f.ended, failureSpan)
	if n < failureGrace || float64(f.failed) <= f.limit*float64(n) {
		return ""
	}
	return fmt.Sprintf("the run was broken off: %d of the last %d requests failed, more than %g %%", f.failed, n, 100*f.limit)
}

// abort ends sending because of what was seen, and drains. The first reason
// stands.
func (r *runner) abort(why string) {
	if why == "" || r.sending.Err() != nil || !r.why.CompareAndSwap(nil, &why) {
		return
	}
	r.ended(r.now())
	r.stop()
	r.drain()
}

// aborted is why the run was broken off, empty when it was not.
func (r *runner) aborted() string {
	if why := r.why.Load(); why != nil {
		return *why
	}
	return ""
}
