package client

import (
	"bytes"
	"fmt"
	"math"
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

	opened openai.Set // choices of which anything has come
	closed openai.Set // of which a finish_reason has come
	open   openai.Set // with output since their last finish_reason, if any

	times     []time.Duration // of events with output
	tokens    []int32         // in each of them, while the server tells
	blind     bool            // the server did not tell for some event
	counted   int             // completion tokens that the last usage told of
	reasoning record.Count    // how many of them were reasoning
	head      []byte          // the first bytes, to explain what is no stream
	received  int             // bytes
	text      []byte          // visible text, where someone wants it
	said      []byte          // text of every channel, where its tokens are counted
	calls     toolCalls       // likewise
}

// maxHead is how much of the start of an answer is kept to explain a failure.
const maxHead = 64

// push takes the next bytes of a stream, which one read returned at the given
// time. wanted reports whether more is of interest: not after [DONE], nor after
// a failure.
func (x *exchange) push(p []byte, now time.Duration) (wanted bool) {
	a := &x.answer
	if a.received < maxHead {
		a.head = append(a.head, p[:min(len(p), maxHead-a.received)]...)
	}
	a.received += len(p)
	a.decoder.Push(p)
	x.drain(now)
	return !a.done && x.record.Failure == ""
}

// end says that the stream is over, as its HTTP message says.
func (x *exchange) end(now time.Duration) {
	a := &x.answer
	if a.done || a.ended || x.record.Failure != "" {
		return
	}
	a.decoder.End()
	a.ended = true
	x.drain(now)
	if !a.done {
		x.record.Closed = record.At(now)
	}
}

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
	if err != nil && heartbeat(event) {
		return
	}
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
	x.usage()
	if x.request.Keep {
		a.text = a.chunk.AppendText(a.text)
		for _, pieces := range a.chunk.ToolCalls() {
			a.calls.add(pieces)
		}
		a.calls.addWhole(a.chunk.Call())
	}
	if x.countTokens != nil {
		a.said = a.chunk.AppendText(a.chunk.AppendReasoning(a.said))
	}
	if a.chunk.Output() {
		x.output(now)
	}
	x.progress(now)
}

// progress notes which choices go on and which have ended. The answer is
// complete but for its closing as long as none goes on; whatever comes then puts
// the end of it off.
func (x *exchange) progress(now time.Duration) {
	a, r := &x.answer, x.record
	if a.chunk.Ended&^a.closed != 0 {
		r.Finished = record.At(now)
		r.FinishReason = OneLine(a.chunk.FinishReason())
	}
	a.opened |= a.chunk.Opened | a.chunk.Ended
	a.closed |= a.chunk.Ended
	a.open = (a.open | a.chunk.Opened) &^ a.chunk.Ended
	switch {
	case a.closed == 0:
	case a.open == 0:
		x.watch.finished(now)
	default:
		x.watch.reopened(now)
	}
}

// terminal reports whether the answer came to its end: [DONE], or a
// finish_reason of every choice. After one of them more may come; when the
// stream then does not end by itself, the answer was cut.
func (a *answer) terminal() bool {
	if a.ended {
		return a.done || a.closed != 0 && a.closed == a.opened
	}
	return a.done || a.closed != 0 && a.open == 0
}

// heartbeat reports whether an event that is no chunk is none of the answer
// either, but like a comment keeps the connection busy.
func heartbeat(event openai.Event) bool {
	switch string(event.Name) {
	case "ping", "heartbeat", "keepalive", "keep-alive":
		return true
	case "error":
		return false
	}
	data := bytes.TrimSpace(event.Data)
	return len(data) == 0 || string(data) == "null"
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
		asked, _ := r.AskedOutput.Value()
		a.times = make([]time.Duration, 0, min(asked+1, 4096))
		x.first(now)
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

// first notes the first output.
func (x *exchange) first(now time.Duration) {
	x.record.First = record.At(now)
	sent, _ := x.record.Sent.Since()
	x.onFirst(now, now-sent)
}

// estimate counts the output where the server does not: by one encode of all that
// was said, since pieces of it may be tokens that the whole does not have, else in
// events.
func (x *exchange) estimate() {
	a, r := &x.answer, x.record
	if len(a.said) > 0 {
		r.Output, r.TokensSource = record.Counted(x.countTokens(string(a.said))), record.Estimated
		return
	}
	r.Output, r.TokensSource = record.Counted(len(a.times)), record.FromChunk
}

// conclude writes the outcome when the stream is over. gaveUp reports that this
// client ended the request, err is why reading ended, nil for a proper end.
func (x *exchange) conclude(err error, gaveUp func() bool) {
	a, r := &x.answer, x.record
	x.disbelieve()
	if len(a.times) > 0 {
		chunks := &record.MeasuredChunks{Times: a.times}
		if !a.blind {
			chunks.Tokens = a.tokens
		}
		r.Chunks = chunks
		if !r.Output.Known() {
			x.estimate()
		}
	}
	switch {
	case r.Failure != "":
	case a.terminal() && len(a.times) > 0:
		r.Outcome = record.OK
		r.ShortOutput = x.request.Exact && short(r)
	case gaveUp():
	case err != nil:
		fail(r, bodyFailure(err), err.Error())
	case a.events == 0 && a.received > 0:
		fail(r, record.NotSSE, fmt.Sprintf("the answer holds no event, it begins with %q", a.head))
	case len(a.times) == 0:
		fail(r, record.NoOutput, "the stream ended without output")
	default:
		fail(r, record.Truncated, fmt.Sprintf("the stream ended after %d events with output, without [DONE] or a finish_reason of every choice", len(a.times)))
	}
}

// short reports whether fewer tokens came than were asked for, by the server's
// own count.
func short(r *record.Record) bool {
	asked, _ := r.AskedOutput.Value()
	got, known := r.Output.Value()
	return known && r.TokensSource == record.FromUsage && got < asked
}
