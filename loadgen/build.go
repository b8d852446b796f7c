package loadgen

import (
	"time"

	"github.com/llmctl/llmctl/loadgen/request"
)

// lookAhead is how many bodies are built before they are due, so that writing a
// long prompt does not delay the request after it, and lookAheadBytes how long
// they are together: 128 prompts of a million tokens would fill a gigabyte.
// Bodies of later turns, which are built while their users think, have as much
// room of their own.
const (
	lookAhead      = 128
	lookAheadBytes = 64 << 20
	thinkingBodies = 1 << 20
)

// build hands on the first turn of each session in order, with its body, until
// the stream or the run ends. Sessions of an open loop that are due after the
// planned end of sending are none of this run's.
func (r *runner) build(hand func(*job)) {
	n, finite := r.o.Workload.Len()
	for i := int64(0); !finite || i < n; i++ {
		j := &job{session: r.o.Workload.Session(i)}
		j.due = j.session.Offset
		if r.open && r.bounded() == byTime && j.due >= r.planned() {
			return
		}
		if !r.late() {
			r.write(j)
		}
		if !r.ahead.take(r.sending, len(j.body)) {
			return
		}
		hand(j)
	}
	r.usedUp.Store(true)
}

// write builds the body of a job.
func (r *runner) write(j *job) {
	j.withUsage = !r.client.UsageRefused()
	j.body = r.o.write(r, j, j.withUsage)
}

// writeBody is the write of Options that is not a test's.
func writeBody(r *runner, j *job, withUsage bool) []byte {
	return r.bodies.Write(j.session, j.turn, j.history, request.Without{Usage: !withUsage})
}

// prepare builds the body of a later turn while its user thinks, if there is
// room; else it is built when it is due.
func (r *runner) prepare(j *job) {
	r.write(j)
	if !r.thinking.tryTake(len(j.body)) {
		j.body = nil
		return
	}
	j.held = len(j.body)
}

// release returns the room of a body that is no longer ahead of its time.
func (r *runner) release(j *job) {
	switch {
	case j.turn == 0:
		r.ahead.give(len(j.body))
	case j.held > 0:
		r.thinking.give(j.held)
	}
	j.held = 0
}

// tooLate is how long after the planned end of sending a client that is behind
// goes on. What is due and not sent by then is dropped.
const tooLate = time.Second

// late reports whether a run that is bounded by time should long have ended.
func (r *runner) late() bool {
	return r.bounded() == byTime && r.now() > r.planned()+tooLate
}
