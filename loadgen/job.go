package loadgen

import (
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/reports/record"
)

// job is one request to be sent.
type job struct {
	id        int64
	session   workload.Session
	turn      int
	due       time.Duration // since the start of the run; open loop only
	open      bool          // due counts
	body      []byte
	withUsage bool // the body asks for usage
}

// newRecord returns the record of a job before anything has happened to it.
func (j *job) newRecord(model string) *record.Record {
	turn := j.session.Turns[j.turn]
	r := &record.Record{
		ID:          j.id,
		Tenant:      j.session.Tenant,
		Class:       j.session.Class,
		Session:     j.session.Index,
		Turn:        j.turn,
		Model:       model,
		AskedInput:  record.Counted(turn.Input),
		AskedOutput: record.Counted(turn.Output),
	}
	if turn.Group != workload.NoGroup {
		r.PrefixGroup = record.Counted(turn.Group)
	}
	if j.open {
		r.Scheduled = record.At(j.due)
	}
	return r
}
