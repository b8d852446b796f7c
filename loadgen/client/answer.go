package client

import (
	"context"
	"fmt"
	"io"
	"math"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/reports/record"
)

// answer is what has been read of a stream.
type answer struct {
	decoder openai.Decoder
	chunk   openai.Chunk

	events int  // events of any kind
	done   bool // [DONE] came
	ended  bool // the stream is over

	times    []time.Duration // of events with output
	tokens   []int32         // in each of them, while the server tells
	blind    bool            // the server did not tell for some event
	counted  int             // completion tokens that the last usage told of
	head     []byte          // the first bytes, to explain what is no stream
	received int             // bytes
	text     []byte          // visible text, where someone wants it
}

var buffers = sync.Pool{New: func() any { return new([readSize]byte) }}

// read follows the stream to its end and writes the outcome. The time of an
// event is the return of the read that completed it.
func (x *exchange) read(ctx context.Context, body io.Reader) {
	buffer := buffers.Get().(*[readSize]byte)
	defer buffers.Put(buffer)
	a := &x.answer
	var err error
	for err == nil && !a.done && x.record.Failure == "" {
		var n int
		n, err = body.Read(buffer[:])
		now := x.now()
		if a.received < maxHead {
			a.head = append(a.head, buffer[:min(n, maxHead-a.received)]...)
		}
		a.received += n
		a.decoder.Push(buffer[:n])
		x.drain(now)
		if err == io.EOF && !a.done && x.record.Failure == "" {
			a.decoder.End()
			a.ended = true
			x.drain(now)
			if !a.done {
				x.record.Closed = record.At(now)
			}
		}
	}
	if err == io.EOF {
		err = nil
	}
	x.conclude(ctx, err)
}

// maxHead is how much of the start of an answer is kept to explain a failure.
const maxHead = 64

// drain handles the events that are complete.
func (x *exchange) drain(now time.Duration) {
	a := &x.answer
	for event, ok := a.decoder.Next(); ok; event, ok = a.decoder.Next() {
		x.event(event, now)
		if a.done || x.record.Failure != "" {
			return
		}
	}
	if err := a.decoder.Err(); err != nil {
		fail(x.record, record.Malformed, err.Error())
	}
}

// event handles one event.
func (x *exchange) event(event openai.Event, now time.Duration) {
	a, r := &x.answer, x.record
	a.events++
	err := a.chunk.Parse(event.Data)
	switch {
	case string(event.Name) == "error", err == nil && a.chunk.Failed:
		fail(r, record.StreamError, streamErrorText(&a.chunk, err, event.Data))
		return
	case err != nil && a.ended:
		return // half an event at the end of the stream: the stream was cut, not malformed
	case err != nil:
		fail(r, record.Malformed, err.Error())
		return
	case a.chunk.Done:
		a.done = true
		r.Closed = record.At(now)
		return
	}
	x.usage(&a.chunk.Usage)
	if x.request.Keep {
		a.text = a.chunk.AppendText(a.text)
	}
	if a.chunk.Output() {
		x.output(now)
	}
	if len(a.chunk.Finish) > 0 && !r.Finished.Known() {
		r.Finished = record.At(now)
		r.FinishReason = OneLine(a.chunk.FinishReason())
		x.watch.finished(now)
	}
}

func streamErrorText(chunk *openai.Chunk, parsing error, data []byte) string {
	if parsing == nil {
		if message := chunk.ErrorMessage(); message != "" {
			return message
		}
	}
	return string(data[:min(len(data), maxDetail)])
}

// output notes an event that carries generated output.
func (x *exchange) output(now time.Duration) {
	a, r := &x.answer, x.record
	if !r.First.Known() {
		r.First = record.At(now)
		asked, _ := r.AskedOutput.Value()
		a.times = make([]time.Duration, 0, min(asked+1, 4096))
		sent, _ := r.Sent.Since()
		x.onFirst(now, now-sent)
	}
	if a.chunk.Visible() && !r.FirstVisible.Known() {
		r.FirstVisible = record.At(now)
	}
	r.Last = record.At(now)
	x.watch.alive(now)
	a.times = append(a.times, now)

	tokens := 1
	total, known := a.chunk.Usage.Completion.Value()
	if believable := known && total >= max(1, a.counted) && total <= math.MaxInt32; believable && !a.blind {
		tokens = total - a.counted
		a.counted = total
		if a.tokens == nil {
			a.tokens = make([]int32, 0, cap(a.times))
		}
		a.tokens = append(a.tokens, int32(tokens))
	} else {
		a.blind = true
	}
	x.onOutput(tokens)
}

// usage notes the server's count of tokens, of which the last one counts.
func (x *exchange) usage(u *openai.Usage) {
	r := x.record
	if u.Prompt.Known() {
		r.Input = u.Prompt
	}
	if u.Cached.Known() {
		r.Cached = u.Cached
	}
	if u.Completion.Known() {
		r.Output, r.TokensSource = u.Completion, record.FromUsage
	}
	r.UsageImplausible = r.UsageImplausible || u.Implausible
}

// disbelieve takes as absent what the server counted when its counts contradict
// each other or the events.
func (x *exchange) disbelieve() {
	a, r := &x.answer, x.record
	prompt, promptKnown := r.Input.Value()
	if cached, known := r.Cached.Value(); known && promptKnown && cached > prompt {
		r.Input, r.Cached, r.UsageImplausible = 0, 0, true
	}
	if n, known := r.Output.Value(); known && n < 1 && len(a.times) > 0 {
		r.Output, r.TokensSource, r.UsageImplausible = 0, "", true
		a.blind = true
	}
}

// conclude writes the outcome when the stream is over; err is why reading
// ended, nil for a proper end.
func (x *exchange) conclude(ctx context.Context, err error) {
	a, r := &x.answer, x.record
	x.disbelieve()
	if len(a.times) > 0 {
		chunks := &record.MeasuredChunks{Times: a.times}
		if !a.blind {
			chunks.Tokens = a.tokens
		}
		r.Chunks = chunks
		if !r.Output.Known() {
			r.Output, r.TokensSource = record.Counted(len(a.times)), record.FromChunk
		}
	}
	terminal := a.done || r.Finished.Known()
	switch {
	case r.Failure != "":
	case terminal && len(a.times) > 0:
		r.Outcome = record.OK
		r.ShortOutput = x.request.Exact && short(r)
	case giveUp(ctx, r, x.now()):
	case err != nil:
		fail(r, bodyFailure(err), err.Error())
	case a.events == 0 && a.received > 0:
		fail(r, record.NotSSE, fmt.Sprintf("the answer holds no event, it begins with %q", a.head))
	case len(a.times) == 0:
		fail(r, record.NoOutput, "the stream ended without output")
	default:
		fail(r, record.Truncated, fmt.Sprintf("the stream ended after %d events with output, without finish_reason or [DONE]", len(a.times)))
	}
}

// short reports whether fewer tokens came than were asked for, by the server's
// own count.
func short(r *record.Record) bool {
	asked, _ := r.AskedOutput.Value()
	got, known := r.Output.Value()
	return known && r.TokensSource == record.FromUsage && got < asked
}
