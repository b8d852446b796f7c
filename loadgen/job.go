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
	session workload.Session
	turn    int
	history []client.Answer // to the turns before this one
	due     time.Duration   // since the start of the run; in a closed loop the end of thinking

	body      []byte // nil while it is not written
	withUsage bool   // the body asks for usage
	held      int    // bytes that the body takes of the budget for later turns
}

// after returns the next turn of the session once this one has been answered;
// nil when this was the last one.
func (j *job) after(answer client.Answer, end time.Duration) *job {
	if j.left() == 0 {
		return nil
	}
	next := &job{session: j.session, turn: j.turn + 1}
	// Each turn has a history of its own, since bodies may be written again.
	next.history = append(slices.Clip(j.history), answer)
	next.due = end + j.session.Turns[next.turn].Think
	return next
}

// left is how many turns of the session come after this one.
func (j *job) left() int { return len(j.session.Turns) - 1 - j.turn }

// newRecord returns the record of a job before anything has happened to it. Each
// call takes the next id of this run: with several shards those of each have a
// remainder of their own, so that ids are unique in all of them together.
func (r *runner) newRecord(j *job) *record.Record {
	shards := int64(max(1, r.o.Shards))
	turn := j.session.Turns[j.turn]
	rec := &record.Record{
		ID:          (r.ids.Add(1)-1)*shards + int64(r.o.Shard),
		Tenant:      j.session.Tenant,
		Class:       j.session.Class,
		Session:     j.session.Index,
		Turn:        j.turn,
		Model:       j.session.Model,
		AskedInput:  record.Counted(turn.Input),
		AskedOutput: record.Counted(turn.Output),
	}
	if rec.Model == "" {
		rec.Model = r.o.Model
	}
	if turn.Group != workload.NoGroup {
		rec.PrefixGroup = record.Counted(turn.Group)
	}
	if r.open {
		rec.Scheduled = record.At(j.due)
	}
	return rec
}
