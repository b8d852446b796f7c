package reports

import (
	"encoding/json"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/reports/record"
)

// apart hides that chunks are of steps, so that their tokens are looked at one by
// one.
type apart struct{ chunks *record.StepChunks }

func (a apart) Len() int                                    { return a.chunks.Len() }
func (a apart) All() iter.Seq2[time.Duration, record.Count] { return a.chunks.All() }

// stepped is an engine with requests in flight.
type stepped struct {
	table *record.Steps
	live  []*record.Record // each with its chunks, which end at now
	spans map[*record.Record]*record.StepChunks
}

// Counting by step gives the report that counting by token gives, to the last bit:
// with windows, warm-up, requests of other windows, gaps from preemptions, ends of
// all kinds, several engines, forgotten steps, and reports in between.
func TestStepsAreTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := openRun(time.Duration(rapid.IntRange(1, 400).Draw(t, "end ms")) * ms)
		run.Window.Start = time.Duration(rapid.IntRange(0, 100).Draw(t, "start ms")) * ms
		run.Window.End = max(run.Window.End, run.Window.Start)
		run.ClosedLoop = rapid.Bool().Draw(t, "closed")
		run.Cost.USDPerHour = 1
		whole, single := NewCollector(run), NewCollector(run)
		engines := make([]stepped, rapid.IntRange(1, 3).Draw(t, "engines"))
		for i := range engines {
			engines[i] = stepped{table: new(record.Steps), spans: map[*record.Record]*record.StepChunks{}}
		}
		now := time.Duration(0)
		for id := range int64(rapid.IntRange(1, 60).Draw(t, "rounds")) {
			e := &engines[rapid.IntRange(0, len(engines)-1).Draw(t, "engine")]
			if rapid.IntRange(0, 2).Draw(t, "arrives") > 0 {
				r := &record.Record{ID: id, Scheduled: record.At(now), Sent: record.At(now + time.Duration(rapid.IntRange(0, 2).Draw(t, "late"))*ms)}
				e.live, e.spans[r] = append(e.live, r), &record.StepChunks{Steps: e.table}
			}
			n := rapid.SampledFrom([]int{0, 1, 1, 3, 30, 1500}).Draw(t, "steps")
			for i := range n {
				now += time.Duration(i%5) * 17 * time.Microsecond
				if i < 10 {
					now += rapid.SampledFrom([]time.Duration{0, 10 * time.Microsecond, ms, 7*ms + 13}).Draw(t, "took")
				}
				step := e.table.Add(now)
				for _, r := range e.live {
					if sent, _ := r.Sent.Since(); sent <= now && (i > 10 || rapid.IntRange(0, 9).Draw(t, "runs") > 0) {
						e.spans[r].Extend(step)
					}
				}
			}
			if len(e.live) > 0 && rapid.Bool().Draw(t, "ends") {
				at := rapid.IntRange(0, len(e.live)-1).Draw(t, "who")
				r := e.live[at]
				e.live = append(e.live[:at], e.live[at+1:]...)
				finish(t, r, e.spans[r], now)
				r.Chunks = e.spans[r]
				whole.Add(r)
				r.Chunks = apart{e.spans[r]}
				single.Add(r)
				delete(e.spans, r)
				e.forget()
			}
			if rapid.IntRange(0, 19).Draw(t, "look") == 0 {
				same(t, single, whole)
			}
		}
		same(t, single, whole)
	})
}

// finish ends a request in some way.
func finish(t *rapid.T, r *record.Record, chunks *record.StepChunks, now time.Duration) {
	r.Outcome = rapid.SampledFrom([]record.Outcome{record.OK, record.OK, record.Cut, record.Cancelled, record.Failed}).Draw(t, "outcome")
	if r.Outcome == record.Failed {
		r.Failure = record.Truncated
	}
	sent, _ := r.Sent.Since()
	r.Closed = record.At(max(now, sent))
	n := chunks.Len()
	if n == 0 {
		return
	}
	first, last := chunks.Spans[0].From, chunks.Spans[len(chunks.Spans)-1].To-1
	r.First, r.FirstVisible, r.Last = record.At(chunks.Steps.End(first)), record.At(chunks.Steps.End(first)), record.At(chunks.Steps.End(last))
	r.TokensSource, r.Input = record.FromUsage, record.Counted(10)
	switch rapid.IntRange(0, 9).Draw(t, "count") {
	case 0: // the server says none
	case 1:
		r.Output = record.Counted(n + 1)
	default:
		r.Output = record.Counted(n)
	}
}

// forget drops the steps that no request in flight needs, at once where the table
// would wait until there are more.
func (e *stepped) forget() {
	oldest := e.table.Next()
	for _, r := range e.live {
		if c := e.spans[r]; len(c.Spans) > 0 {
			oldest = min(oldest, c.Spans[0].From)
		}
	}
	if e.table.OnForget != nil {
		e.table.OnForget(oldest)
	}
	e.table.Forget(oldest)
}

func same(t *rapid.T, single, whole *Collector) {
	want, _ := json.Marshal(single.Report())
	got, _ := json.Marshal(whole.Report())
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Fatalf("token by token (-), step by step (+):\n%s", diff)
	}
}

// BenchmarkCollectSteps is the share of reports in a simulation of 10,000 requests
// of 512 tokens, 273 at a time.
func BenchmarkCollectSteps(b *testing.B) {
	const n, tokens, apart = 10_000, 512, 2
	run := openRun(3600 * time.Second)
	run.Kind = "simulate"
	b.ReportAllocs()
	for b.Loop() {
		c := NewCollector(run)
		var table record.Steps
		for range apart*n + tokens {
			table.Add(time.Duration(table.Next()+1) * (20*ms + time.Duration(table.Next()%977)*time.Microsecond))
		}
		r := record.Record{
			Outcome: record.OK, TokensSource: record.FromUsage,
			AskedInput: record.Counted(512), AskedOutput: record.Counted(tokens), Input: record.Counted(512), Cached: record.Counted(0), Output: record.Counted(tokens),
		}
		chunks := record.StepChunks{Steps: &table, Spans: make([]record.StepSpan, 1)}
		for i := range n {
			from := apart * i
			chunks.Spans[0] = record.StepSpan{From: from, To: from + tokens}
			r.ID, r.Chunks = int64(i), &chunks
			first, last := table.End(from), table.End(from+tokens-1)
			sent := max(0, first-30*ms-time.Duration(i%769)*time.Microsecond)
			r.Scheduled, r.Sent, r.First, r.FirstVisible = record.At(sent), record.At(sent), record.At(first), record.At(first)
			r.Last, r.Finished, r.Closed = record.At(last), record.At(last), record.At(last)
			c.Add(&r)
			table.Forget(from)
		}
		if report := c.Report(); report.ICL.N != n*(tokens-1) {
			b.Fatalf("%d gaps", report.ICL.N)
		}
	}
}
