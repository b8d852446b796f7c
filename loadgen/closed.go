package loadgen

import (
	"time"
)

// closedLoop runs n slots, or users, which start one after another over the
// workload's time to ramp up. A slot that gets an answer sends the next request,
// without waiting for the others.
func (r *runner) closedLoop(n int, work func(first <-chan *job)) {
	first := make(chan *job, lookAhead)
	r.helpers.Go(func() {
		defer close(first)
		r.build(func(j *job) {
			select {
			case first <- j:
			case <-r.sending.Done():
			}
		})
	})
	if r.bounded() == byTime {
		timer := time.AfterFunc(r.planned()-r.now(), func() {
			r.ended(r.planned())
			r.stop()
		})
		defer timer.Stop()
	}
	for i := range n {
		r.inFlight.Go(func() {
			if r.sleep(r.o.Workload.Joins(i)) {
				work(first)
			}
		})
	}
	<-r.sending.Done()
}

// sleep waits for a time of the run; ok is false when sending ends first.
func (r *runner) sleep(until time.Duration) (ok bool) {
	left := until - r.now()
	if left <= 0 {
		return r.sending.Err() == nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.sending.Done():
		return false
	}
}

// slot keeps one request in flight. A session whose user thinks gives its slot
// to another one, so that the number in flight is exactly the one asked for.
func (r *runner) slot(first <-chan *job) {
	for {
		j := r.pick(first)
		if j == nil || !r.admitClosed(j) {
			return
		}
		if next, _ := r.send(j); next != nil {
			r.prepare(next)
			r.queue.push(next)
		}
	}
}

// pick returns what a free slot sends: the later turn that has waited longest,
// else a new session; nil when sending is over.
func (r *runner) pick(first <-chan *job) *job {
	if j := r.queue.take(r.now()); j != nil {
		return j
	}
	select {
	case j := <-first: // nil when there are no more
		return j
	case <-r.sending.Done():
		return nil
	}
}

// user sends one session after another and thinks before each turn but the very
// first one.
func (r *runner) user(first <-chan *job) {
	var j *job
	for free := time.Duration(0); ; {
		if j == nil {
			var ok bool
			select {
			case j, ok = <-first:
			case <-r.sending.Done():
			}
			if !ok {
				return
			}
			if free > 0 {
				j.due = free + j.session.Turns[0].Think
			}
		} else {
			r.prepare(j)
		}
		if !r.sleep(j.due) || !r.admitClosed(j) {
			return
		}
		j, free = r.send(j)
	}
}

// admitClosed reports whether a closed loop sends one more request now.
func (r *runner) admitClosed(j *job) bool {
	r.release(j)
	if r.sending.Err() != nil {
		return false
	}
	if r.bounded() == byCount && r.now() >= r.o.Warmup {
		n := r.measured.Add(1)
		if n >= int64(r.o.Requests) {
			r.stop() // this is the last one, or one too many
		}
		if n > int64(r.o.Requests) {
			return false
		}
	}
	j.id = r.nextID()
	r.collector.scheduled.Add(1)
	r.flying.Add(1)
	return true
}
