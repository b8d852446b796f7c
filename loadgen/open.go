package loadgen

import (
	"sync/atomic"
	"time"
)

// openLoop sends each job when it is due and never waits for an answer. First
// turns come from the stream; a later turn is due when the one before has been
// answered and its user has thought.
func (r *runner) openLoop() {
	r.queue.expect()
	r.helpers.Go(func() {
		defer r.queue.forget()
		r.build(r.queue.push)
		r.built.Store(true)
	})
	paced := make(chan struct{})
	go func() { // a goroutine of its own, because its thread is given up
		defer close(paced)
		ownThread()
		r.pace()
		r.stop()
	}()
	<-paced
}

// idle is how long the pacer waits when it knows of nothing that is due.
const idle = time.Minute

// pace takes out jobs when they are due until sending is over, and fixes the end
// of the window.
func (r *runner) pace() {
	end := r.planned() // 0 when it is not known
	for r.sending.Err() == nil {
		due, ok, left := r.queue.next()
		if !ok && !left && r.usedUp.Load() {
			r.endOfTrace()
			return
		}
		until := due
		if !ok {
			until = r.now() + idle
		}
		if end > 0 {
			until = min(until, end)
		}
		if until > r.now() {
			r.o.wait(r.sending, r.queue.changed, r.start().Add(until))
			continue
		}
		if end > 0 && until == end {
			r.ended(end) // exactly the length that was asked for
			if r.caughtUp(end) {
				return
			}
			r.o.wait(r.sending, r.queue.changed, r.start().Add(end+tooLate+r.o.Drain))
			continue
		}
		if j := r.queue.take(until); j != nil && r.admit(j) {
			if j.left() > 0 {
				r.queue.expect()
			}
			r.inFlight.Go(func() { r.converse(j) })
		}
	}
}

// caughtUp reports whether nothing that was due before the end is still to come. A
// client that is behind has yet to make what it could not send, which is dropped and
// counted: what was due is what was offered. That too has a limit in time.
func (r *runner) caughtUp(end time.Duration) bool {
	if r.built.Load() {
		due, ok, _ := r.queue.next()
		return !ok || due >= end
	}
	if r.now() < end+tooLate+r.o.Drain {
		return false
	}
	r.uncounted.Store(true)
	return true
}

// endOfTrace fixes the end of a window after which no request will ever be due: a
// mean gap after the last one, as if another one had been due then, but no later
// than planned. Requests that were all due at once are measured until they have
// ended.
func (r *runner) endOfTrace() {
	last, n := time.Duration(r.lastDue.Load()), r.collector.scheduled.Load()
	if last == 0 || n < 2 {
		r.inFlight.Wait()
		r.ended(r.now())
		return
	}
	end := last + last/time.Duration(n-1)
	if planned := r.planned(); planned > 0 {
		end = min(end, planned)
	}
	r.ended(end)
}

// converse sends a job and, as long as nobody thinks in between, those that
// follow it in its session; else the next one goes back to the pacer.
func (r *runner) converse(j *job) {
	if j.left() > 0 {
		defer r.queue.forget()
	}
	for {
		next, _ := r.send(j)
		if next == nil || r.sending.Err() != nil {
			return
		}
		if next.due > r.now() {
			r.prepare(next)
			r.queue.push(next)
			return
		}
		if !r.admit(next) {
			return
		}
		j = next
	}
}

// admit reports whether a job of an open loop that is due now is to be sent. It
// never waits: a job that can not be sent at once is dropped. The first job that
// is one too many ends a run that is bounded by a number, whose window is thereby
// exactly as long as the schedule of its requests.
func (r *runner) admit(j *job) bool {
	r.release(j)
	if r.bounded() == byCount && j.due >= r.o.Warmup && r.measured.Add(1) > int64(r.o.Requests) {
		r.ended(j.due)
		r.stop()
		return false
	}
	j.id = r.nextID()
	r.collector.scheduled.Add(1)
	raise(&r.lastDue, int64(j.due))
	switch {
	case r.late():
		r.drop(j, "the client was too late to send it")
		return false
	case r.flying.Add(1) > int64(r.o.MaxInFlight):
		r.flying.Add(-1)
		r.drop(j, "the client already had as many requests in flight as it may")
		return false
	}
	return true
}

// raise makes a value at least v.
func raise(value *atomic.Int64, v int64) {
	for old := value.Load(); old < v && !value.CompareAndSwap(old, v); old = value.Load() {
	}
}
