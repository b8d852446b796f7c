package simulator

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/engine/sched"
)

// TraceEvents is the number of events that a trace has at most: some 150 MB, which
// viewers still open.
const TraceEvents = 1_000_000

// TraceFile is an Observer that writes a trace for chrome://tracing and Perfetto: a
// process for each replica, with a track of its steps, counters of its cache and its
// queue, and one track each of requests that are queued, in prefill, in decode and
// preempted. The form is the JSON array of "Trace Event Format" (Duffin, Google,
// 2016); times are microseconds of virtual time.
//
// What is written is whole after every flush where the writer can seek, so that an
// interrupted run leaves a valid document.
type TraceFile struct {
	out     io.Writer
	end     io.Seeker // nil where the writer can not seek
	err     error
	pending []byte // not yet handed out
	line    []byte
	limit   int
	written int
	dropped int64
	last    time.Duration
	known   map[int]bool // replicas that have a name
	phases  map[traced]*phase
	ids     int64 // of phases
}

// traced names a request at a replica.
type traced struct {
	replica int
	key     sched.ID
}

// phase is what a request is in.
type phase struct {
	name    string
	request int64
	since   time.Duration
}

// flushAt is the number of bytes that are handed out together.
const flushAt = 1 << 16

// closing ends the document.
const closing = "\n]\n"

// NewTraceFile begins a trace. Close ends it.
func NewTraceFile(w io.Writer) *TraceFile {
	t := &TraceFile{out: w, limit: TraceEvents, known: map[int]bool{}, phases: map[traced]*phase{}}
	t.end, _ = w.(io.Seeker)
	if t.end != nil {
		// A pipe is a file that can not seek.
		if _, err := t.end.Seek(0, io.SeekCurrent); err != nil {
			t.end = nil
		}
	}
	t.pending = append(t.pending, '[')
	t.flush(true)
	return t
}

// Close writes what is still open and ends the document. The writer stays open.
func (t *TraceFile) Close() error {
	t.finishAll(t.last, func(int) bool { return true })
	t.flush(false)
	if t.err != nil {
		return fmt.Errorf("writing the trace: %w", t.err)
	}
	return nil
}

// Dropped is the number of events that were too many to be written.
func (t *TraceFile) Dropped() int64 { return t.dropped }

// Queued implements Observer.
func (t *TraceFile) Queued(at time.Duration, replica int, key sched.ID, request int64) {
	t.name(replica)
	t.phases[traced{replica, key}] = &phase{"queued", request, at}
	t.last = max(t.last, at)
}

// Step implements Observer.
func (t *TraceFile) Step(at, took time.Duration, replica int, b *sched.Batch, st sched.Stats) {
	t.name(replica)
	for _, id := range b.Preempted {
		t.become(traced{replica, id}, "preempted", at)
		t.instant(at, replica, "preemption")
	}
	prompts := 0
	for i := range b.Entries {
		e := &b.Entries[i]
		who := traced{replica, e.ID}
		if e.Admitted {
			t.become(who, "prefill", at)
		}
		if p := t.phases[who]; p != nil && p.name == "prefill" {
			prompts += e.Tokens
			if e.Sample {
				t.become(who, "decode", at+took)
			}
		}
	}
	t.begin("X", at, replica)
	t.field(`,"dur":`, took)
	t.text(`,"name":"step","args":{"requests":`).number(len(b.Entries)).text(`,"tokens":`).number(b.Tokens).
		text(`,"prompt_tokens":`).number(prompts).text(`,"preempted":`).number(len(b.Preempted)).text("}")
	t.done()
	t.begin("C", at, replica)
	t.text(`,"name":"KV usage (%)","args":{"used":`)
	t.line = strconv.AppendFloat(t.line, 100*st.Usage, 'f', 1, 64)
	t.text("}").done()
	t.begin("C", at, replica)
	t.text(`,"name":"requests","args":{"running":`).number(st.Running).text(`,"waiting":`).number(st.Waiting).text("}").done()
	t.last = max(t.last, at+took)
}

// Left implements Observer.
func (t *TraceFile) Left(at time.Duration, replica int, key sched.ID, answered bool) {
	who := traced{replica, key}
	if p := t.phases[who]; p != nil {
		t.finish(replica, p, at)
		delete(t.phases, who)
	}
	if !answered {
		t.instant(at, replica, "taken back")
	}
	t.last = max(t.last, at)
}

// Happened implements Observer.
func (t *TraceFile) Happened(at time.Duration, replica int, what Change) {
	t.name(replica)
	t.instant(at, replica, string(what))
	if what == Crashes || what == Leaves {
		t.finishAll(at, func(r int) bool { return r == replica })
	}
	t.last = max(t.last, at)
}

// become ends the phase of a request and begins the next one.
func (t *TraceFile) become(who traced, name string, at time.Duration) {
	p := t.phases[who]
	if p == nil || p.name == name {
		return
	}
	t.finish(who.replica, p, at)
	p.name, p.since = name, at
}

// finishAll ends the phases of all requests at some replicas, in their order.
func (t *TraceFile) finishAll(at time.Duration, of func(replica int) bool) {
	var open []traced
	for who := range t.phases {
		if of(who.replica) {
			open = append(open, who)
		}
	}
	slices.SortFunc(open, func(a, b traced) int { return cmp.Or(cmp.Compare(a.replica, b.replica), cmp.Compare(a.key, b.key)) })
	for _, who := range open {
		t.finish(who.replica, t.phases[who], at)
		delete(t.phases, who)
	}
}

// finish writes a phase that has ended: viewers put those of one name on one track,
// and an id of its own keeps each apart from those that overlap it.
func (t *TraceFile) finish(replica int, p *phase, at time.Duration) {
	if at <= p.since {
		return
	}
	t.ids++
	for _, edge := range [...]struct {
		kind string
		at   time.Duration
	}{{"b", p.since}, {"e", at}} {
		t.begin(edge.kind, edge.at, replica)
		t.text(`,"cat":"request","id":`).number(int(t.ids)).text(`,"name":"`).text(p.name).text(`","args":{"request":`).number(int(p.request)).text("}").done()
	}
}

func (t *TraceFile) instant(at time.Duration, replica int, what string) {
	t.begin("i", at, replica)
	t.text(`,"s":"p","name":`)
	t.line = strconv.AppendQuote(t.line, what)
	t.done()
}

// name gives a replica's process its name when it is first seen.
func (t *TraceFile) name(replica int) {
	if t.known[replica] {
		return
	}
	t.known[replica] = true
	for _, m := range [...]struct{ kind, name string }{{"process_name", "replica " + strconv.Itoa(replica)}, {"thread_name", "steps"}} {
		t.begin("M", 0, replica)
		t.text(`,"name":"`).text(m.kind).text(`","args":{"name":"`).text(m.name).text(`"}`).done()
	}
}

// begin begins an event of a replica's process.
func (t *TraceFile) begin(kind string, at time.Duration, replica int) {
	t.line = append(t.line[:0], `{"ph":"`...)
	t.text(kind).text(`","pid":`).number(replica + 1).text(`,"tid":0`)
	t.field(`,"ts":`, at)
}

func (t *TraceFile) text(s string) *TraceFile {
	t.line = append(t.line, s...)
	return t
}

func (t *TraceFile) number(n int) *TraceFile {
	t.line = strconv.AppendInt(t.line, int64(n), 10)
	return t
}

// field is a time in microseconds, exact to the nanosecond.
func (t *TraceFile) field(name string, d time.Duration) {
	t.text(name).number(int(d / 1000))
	if rest := int(d % 1000); rest != 0 {
		t.line = append(t.line, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	}
}

// done writes the event, unless there are too many.
func (t *TraceFile) done() {
	if t.written == t.limit {
		t.dropped++
		return
	}
	if t.written > 0 {
		t.pending = append(t.pending, ',')
	}
	t.pending = append(append(append(t.pending, '\n'), t.line...), '}')
	if t.written++; len(t.pending) >= flushAt {
		t.flush(true)
	}
}

// flush hands out what is pending and the end of the document. Where more is to
// come, it is written over that end, or without it where the writer can not go back.
func (t *TraceFile) flush(more bool) {
	if t.err != nil {
		return
	}
	if !more || t.end != nil {
		t.pending = append(t.pending, closing...)
	}
	_, t.err = t.out.Write(t.pending)
	t.pending = t.pending[:0]
	if more && t.end != nil && t.err == nil {
		_, t.err = t.end.Seek(-int64(len(closing)), io.SeekCurrent)
	}
}
