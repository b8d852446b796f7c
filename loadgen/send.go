package loadgen

import (
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/reports/record"
)

// send sends one job that was admitted and hands its record on. It returns the next turn of the
// session, nil when there is none, and when the answer ended. A turn that was not
// answered ends its session: nobody can go on from an answer that is not there,
// and a user who left does not come back.
func (r *runner) send(j *job) (next *job, end time.Duration) {
	defer r.flying.Add(-1)
	rec := r.newRecord(j)
	if j.body == nil {
		r.write(j)
	}
	request := client.Request{
		Body: j.body, Exact: r.bodies.Exactly(&j.session.Turns[j.turn]), Keep: j.left() > 0,
		CancelAfter: j.session.Turns[j.turn].CancelAfter,
	}
	if j.withUsage {
		request.WithoutUsage = func() []byte { return r.o.write(r, j, false) }
	}
	r.collector.sent.Add(1)
	answer := r.client.Do(r.hard, request, rec)
	end, ok := rec.End().Since()
	if !ok {
		end = r.now()
	}
	if rec.Outcome == record.OK {
		next = j.after(answer, rec, end)
	}
	r.conclude(j, rec)
	return next, end
}

// drop records a job that was due but could not be sent, and why.
func (r *runner) drop(j *job, why string) {
	rec := r.newRecord(j)
	rec.Outcome, rec.Detail = record.Dropped, why
	r.conclude(j, rec)
}

// conclude hands on the record of a request that has ended, and notes the turns that
// nobody will send because of how it ended.
func (r *runner) conclude(j *job, rec *record.Record) {
	if lost := j.left(); lost > 0 && (rec.Outcome == record.Failed || rec.Outcome == record.Dropped) {
		r.broken.Add(1)
		r.unsent.Add(int64(lost))
	}
	r.collector.add(rec)
}
