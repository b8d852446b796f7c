package loadgen

import (
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/request"
	"github.com/llmctl/llmctl/reports/record"
)

// lookAhead is how many bodies are built before they are due, so that writing a
// long prompt does not delay the request after it, and lookAheadBytes how long
// they are together: 128 prompts of a million tokens would fill a gigabyte.
const (
	lookAhead      = 128
	lookAheadBytes = 64 << 20
)

// tooLate is how long after the planned end of sending a client that is behind
// goes on. What is due and not sent by then is dropped.
const tooLate = time.Second

// build writes the jobs of the run in order. An open loop ends when the next
// session is due after the end, and fixes that end; a closed loop has no end of
// its own. The channel is closed when no more jobs come.
func (r *runner) build(open bool) <-chan *job {
	jobs := make(chan *job, lookAhead)
	go func() {
		defer close(jobs)
		inWindow := 0
		for i := int64(0); ; i++ {
			j := &job{id: i, session: r.o.Workload.Session(i), open: open}
			if open {
				j.due = j.session.Offset
				if r.bounded() == byTime && j.due >= r.planned() || r.bounded() == byCount && inWindow == r.o.Requests {
					return
				}
				if j.due >= r.o.Warmup {
					inWindow++
				}
			}
			if !r.late() {
				j.withUsage = !r.client.UsageRefused()
				j.body = r.bodies.Write(j.session, j.turn, nil, request.Without{Usage: !j.withUsage})
			}
			if !r.ahead.take(r.sending, len(j.body)) {
				return
			}
			select {
			case jobs <- j:
			case <-r.sending.Done():
				return
			}
		}
	}()
	return jobs
}

// late reports whether a run that is bounded by time should long have ended.
func (r *runner) late() bool {
	return r.bounded() == byTime && r.now() > r.planned()+tooLate
}

// openLoop sends each job when it is due and never waits for an answer.
func (r *runner) openLoop() {
	finished := make(chan struct{})
	go func() { // a goroutine of its own, because its thread is given up
		defer close(finished)
		ownThread()
		for j := range r.build(true) {
			r.o.wait(r.sending, r.start.Add(j.due))
			r.ahead.give(len(j.body))
			if r.sending.Err() != nil {
				continue // the channel closes soon
			}
			r.collector.scheduled.Add(1)
			if r.late() {
				r.drop(j, "the client was too late to send it")
				continue
			}
			if r.flying.Load() >= int64(r.o.MaxInFlight) {
				r.drop(j, "the client already had as many requests in flight as it may")
				continue
			}
			r.flying.Add(1)
			r.inFlight.Go(func() {
				defer r.flying.Add(-1)
				r.send(j)
			})
		}
		// The window lasts until the next request would have been due, which
		// makes its length exactly that of the schedule.
		end := r.planned()
		if r.bounded() == byCount {
			end = r.scheduleEnd()
		}
		r.o.wait(r.sending, r.start.Add(end))
		if r.sending.Err() == nil {
			r.ended(end)
		}
		r.stop()
	}()
	<-finished
}

// scheduleEnd is when the first request after the last one of an open loop that
// is bounded by a number of requests would be due.
func (r *runner) scheduleEnd() time.Duration {
	var first int64
	for r.o.Workload.Offset(first) < r.o.Warmup {
		first++
	}
	return r.o.Workload.Offset(first + int64(r.o.Requests))
}

// drop records a job that was due but could not be sent, and why.
func (r *runner) drop(j *job, why string) {
	rec := j.newRecord(r.o.Model)
	rec.Outcome, rec.Detail = record.Dropped, why
	r.collector.add(rec)
}

// closedLoop keeps n requests in flight: whoever gets an answer sends the next
// request, without waiting for the others.
func (r *runner) closedLoop(n int) {
	jobs := r.build(false)
	if r.bounded() == byTime {
		timer := time.AfterFunc(r.planned(), func() {
			r.ended(r.planned())
			r.stop()
		})
		defer timer.Stop()
	}
	for range n {
		r.inFlight.Go(func() {
			for j := range jobs {
				r.ahead.give(len(j.body))
				if !r.admit() {
					continue // the channel closes soon
				}
				r.collector.scheduled.Add(1)
				r.flying.Add(1)
				r.send(j)
				r.flying.Add(-1)
			}
		})
	}
	<-r.sending.Done()
}

// admit reports whether a closed loop sends one more request now.
func (r *runner) admit() bool {
	if r.sending.Err() != nil {
		return false
	}
	if r.bounded() == byTime || r.now() < r.o.Warmup {
		return true
	}
	n := r.measured.Add(1)
	if n >= int64(r.o.Requests) {
		r.stop() // this is the last one, or one too many
	}
	return n <= int64(r.o.Requests)
}

// send sends one job and hands its record on.
func (r *runner) send(j *job) {
	rec := j.newRecord(r.o.Model)
	r.collector.sent.Add(1)
	req := client.Request{Body: j.body, Exact: r.bodies.Exactly(&j.session.Turns[j.turn])}
	if j.withUsage {
		req.WithoutUsage = func() []byte {
			return r.bodies.Write(j.session, j.turn, nil, request.Without{Usage: true})
		}
	}
	r.client.Do(r.hard, req, rec)
	r.collector.add(rec)
}
