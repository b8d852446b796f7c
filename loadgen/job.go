package loadgen

import (
	"slices"
	"time"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/reports/record"
)

// job is one request to be sent: one turn of a session.
type job struct {
	id      int64 // of its record, from when it is admitted
	session workload.Session
	turn    int
	history []client.Answer // to the turns before this one
	context int             // tokens of those turns and their answers
	due     time.Duration   // since the start of the run; in a closed loop the end of thinking

	body      []byte // nil while it is not written
	withUsage bool   // the body asks for usage
	held      int    // bytes that the body takes of the budget for later turns
}

// after returns the next turn of the session once this one has been answered, as
// rec tells; nil when this was the last one.
func (j *job) after(answer client.Answer, rec *record.Record, end time.Duration) *job {
	if j.left() == 0 {
		return nil
	}
	next := &job{session: j.session, turn: j.turn + 1}
	// Each turn has a history of its own, since bodies may be written again.
	next.history = append(slices.Clip(j.history), answer)
	next.context = either(rec.Input, rec.AskedInput) + either(rec.Output, rec.AskedOutput)
	next.due = end + j.session.Turns[next.turn].Think
	return next
}

// either is the first of two counts that is known.
func either(counted, asked record.Count) int {
	if n, ok := counted.Value(); ok {
		return n
	}
	n, _ := asked.Value()
	return n
}

// left is how many turns of the session come after this one.
func (j *job) left() int { return len(j.session.Turns) - 1 - j.turn }

// nextID is the id of the next request of this run, in the order in which they
// are admitted: with several shards those of each have a remainder of their own,
// so that ids are unique in all of them together.
func (r *runner) nextID() int64 {
	shards := int64(max(1, r.o.Shards))
	return (r.ids.Add(1)-1)*shards + int64(r.o.Shard)
}

// newRecord returns the record of a job before anything has happened to it.
func (r *runner) newRecord(j *job) *record.Record {
	turn := j.session.Turns[j.turn]
	rec := &record.Record{
		ID:          j.id,
		Tenant:      j.session.Tenant,
		Class:       j.session.Class,
		Session:     j.session.Index,
		Turn:        j.turn,
		Model:       j.session.Model,
		AskedInput:  record.Counted(j.context + turn.Input),
		AskedOutput: record.Counted(turn.Output),
	}
	if rec.Model == "" {
		rec.Model = r.o.Model
	}
	if group := j.session.Turns[0].Group; group != workload.NoGroup { // of the whole conversation
		rec.PrefixGroup = record.Counted(group)
	}
	if r.open {
		rec.Scheduled = record.At(j.due)
	}
	return rec
}
