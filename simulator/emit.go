package simulator

import (
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

// write hands out the record of a request that has ended.
func (s *sim) write(r *request, outcome record.Outcome, failure record.Failure) {
	rec := &s.record
	*rec = record.Record{
		ID: r.id, Tenant: r.session.Tenant, Class: r.session.Class, Session: s.sessionNumber(r), Turn: r.turn, Model: r.session.Model,
		Sent: record.At(r.sent), Wrote: record.At(r.sent),
		AskedInput: record.Counted(r.prompt), AskedOutput: record.Counted(r.output),
		Outcome: outcome, Failure: failure, Attempts: max(1, r.attempts),
	}
	if group := r.session.Turns[0].Group; group != workload.NoGroup {
		rec.PrefixGroup = record.Counted(group)
	}
	provided := r.passage != nil && r.passage.provided != nil
	if r.replica != nil && s.front.several() && !provided {
		rec.Endpoint = record.Counted(r.replica.index)
	}
	if s.sources[r.stream].open {
		rec.Scheduled = record.At(r.due)
	}
	if r.produced > 0 {
		rec.FirstByte, rec.First, rec.FirstVisible, rec.Last = record.At(r.first), record.At(r.first), record.At(r.first), record.At(r.last)
		rec.Chunks = &r.chunks
		rec.Output = record.Counted(r.produced)
		rec.Input = record.Counted(r.prompt)
		rec.Cached = record.Counted(max(0, r.cached))
		rec.TokensSource = record.FromUsage
		if provided { // whose cache nobody knows
			rec.Chunks, rec.Cached = r.passage.provided, record.Count(0)
		}
	}
	switch outcome {
	case record.OK:
		rec.Finished, rec.Closed = record.At(r.last), record.At(r.last)
		rec.HTTPStatus, rec.FinishReason = 200, "length"
		rec.ShortOutput = r.produced < r.output
	case record.Cancelled, record.Cut, record.Failed:
		rec.Closed = record.At(s.now)
		rec.HTTPStatus = status(failure, r.produced > 0)
		if outcome == record.Failed {
			rec.Detail = r.why
		}
	}
	s.emit(rec)
}

// sessionNumber tells sessions apart in all streams together.
func (s *sim) sessionNumber(r *request) int64 {
	return r.session.Index*int64(len(s.sources)) + int64(r.stream)
}

// seconds is a time of the cost model in whole nanoseconds.
func seconds(t float64) time.Duration { return cost.Duration(t) }

// status is the status that came with an answer that was none, or broke off; 0
// when none came.
func status(failure record.Failure, begun bool) int {
	if code, ok := strings.CutPrefix(string(failure), "http_"); ok {
		n, _ := strconv.Atoi(code) // HTTPFailure wrote it
		return n
	}
	if begun {
		return 200
	}
	return 0
}
