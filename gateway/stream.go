package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/check"
	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/internal/openai"
)

// lingering is how long the upstream may take to close its side after [DONE].
const lingering = 250 * time.Millisecond

// readSize is for one read of a stream. It holds a dozen events, the transport reads
// no more at once, and each open stream has one.
const readSize = 4 << 10

// buffers are the memory of an open stream, which the next one uses again.
type buffers struct {
	read  [readSize]byte
	held  []byte
	mould mould
}

var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// maxHeld bounds what is held back until the first output. Beyond it the answer
// is committed: an upstream that says so much without an answer is not hung.
const maxHeld = 64 << 10

// largeHeld is more than one read brings; what a burst or a large event needed beyond
// it is not kept.
const largeHeld = 2 * readSize

// relay passes one event stream from the upstream to the client.
type relay struct {
	x         *exchange
	timers    *timers
	beat      *heartbeat          // nil when the client gets none
	gaps      prometheus.Observer // between events with output
	progress  progress            // nil where nothing is known of the input before the end
	asked     bool                // for a stream
	hideUsage bool                // the client did not ask for usage: its chunk stays here
	choices   int64               // how many finish reasons make the answer complete

	held     []byte  // what came before the first output, or awaits a flush
	finished []int64 // choices that have ended
	done     bool    // the last event has passed
	written  bool    // held awaits a flush
	mould    *mould
	gate     *check.Gate[passage] // nil unless the alias filters answers
	blocked  bool                 // a filter ended the answer
}

// progress is a stream that knows its input before its end.
type progress interface{ Progress() (input int64) }

// stream passes events on as they come, byte for byte: whatever one read brought
// is flushed before the next read can wait. What comes before the first output,
// such as a role, is held back, so that an upstream that fails before it still
// gets a status of its own, or another try.
func (r *relay) stream(ctx context.Context, response *http.Response) *failure {
	if e := response.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return badAnswer("the upstream compressed its stream", fmt.Errorf("content encoding %q", e))
	}
	if !r.x.dialect.streams {
		return badAnswer("the upstream streamed where no stream belongs", nil)
	}
	r.progress, _ = response.Body.(progress)
	r.gaps = r.x.chunks()
	b := bufferPool.Get().(*buffers)
	r.held, r.mould = b.held[:0], &b.mould
	defer r.letGo(b)
	var frames framer
	defer r.beat.stop()
	for {
		n, readErr := response.Body.Read(b.read[:])
		r.beat.hold()
		now := r.x.g.now()
		r.x.heard = now
		for f := range frames.push(b.read[:n]) {
			if failure := r.handle(f, now); failure != nil || r.blocked {
				r.flush()
				return failure
			}
		}
		if err := frames.err(); err != nil {
			r.flush()
			return interrupted("the upstream sent an event that is too large", err)
		}
		if !r.x.weighEvent(len(frames.pending)) {
			r.flush()
			return crowded(errAnswers)
		}
		if readErr != nil {
			return r.end(ctx, &frames, readErr, now)
		}
		if !r.flush() {
			return clientGone()
		}
		r.beat.release()
	}
}

// letGo gives the memory back that the stream used. What a burst has made large goes
// to the garbage.
func (r *relay) letGo(b *buffers) {
	b.held, r.held, r.mould = r.held, nil, nil
	if cap(b.held) > largeHeld {
		b.held = nil
	}
	b.mould.take(nil, bit{})
	bufferPool.Put(b)
}

// handle passes one frame on, or keeps it here.
func (r *relay) handle(f frame, now time.Time) *failure {
	x := r.x
	if r.done {
		return nil
	}
	if !f.isEvent {
		return r.aside(f)
	}
	c := r.read(f)
	if c.garbage && !c.failed {
		return r.spoil(f)
	}
	r.note(&c, now)
	switch {
	case c.failed && !x.committed:
		return c.streamError(x.try.target)
	case c.failed:
		if failure := r.write(c.told(x.dialect, x.try.target.provider, f), true); failure != nil {
			return failure
		}
		return &failure{outcome: outcomeStreamError, cause: reported(http.StatusOK, c.failure)} // the client has heard of it
	case c.usageOnly && r.hideUsage:
		x.takeDown(f)
		return nil
	}
	p := passage{raw: f.raw, output: c.output || len(c.finished) > 0 || c.done}
	if x.model.rename {
		p.raw = f.renamed(x.dialect.modelPath, x.model.alias)
	}
	if !c.done {
		x.takeDown(f)
	}
	if r.gate != nil {
		return r.guard(f, p, c.done, now)
	}
	if c.done {
		r.complete(now)
		r.timers.linger(lingering)
	}
	return r.write(p.raw, p.output)
}

// note takes in what an event says of the request.
func (r *relay) note(c *chunk, now time.Time) {
	x := r.x
	r.timers.progress(c.output)
	if c.output {
		if x.first.IsZero() {
			x.first = now
			x.try.lease.Produced()
			x.enter(phaseStreaming)
		} else {
			r.gaps.Observe(now.Sub(x.last).Seconds())
		}
		x.last = now
		x.spent.hear(c.heard)
	}
	if c.answer > 0 { // of events that nobody understood, too
		x.spent.estimate.Output = max(x.spent.estimate.Output, c.answer)
	}
	x.report(c.usage) // which counts the output that it comes with
	if r.progress != nil {
		if input := r.progress.Progress(); input > 0 && x.spent.belief.takesInput(input) {
			x.spent.estimate.Input = input
		}
	}
	if c.output {
		x.live.output.Store(x.spent.tokens().Output)
	}
	for _, choice := range c.finished {
		if !slices.Contains(r.finished, choice) { // servers may say it twice
			r.finished = append(r.finished, choice)
		}
	}
	if c.reason != "" {
		x.finishReason = c.reason
	}
}

// complete notes that the answer is whole; whatever still comes is ignored.
func (r *relay) complete(now time.Time) {
	r.done = true
	r.x.closed = now
	r.x.settle()
	r.x.try.lease.Release(fleet.OK) // its engine has room again
}

// end decides what the end of the upstream's stream means. A finish reason, or
// [DONE], makes the answer complete; without either it was cut off, and saying
// [DONE] would make a broken answer look whole.
func (r *relay) end(ctx context.Context, frames *framer, readErr error, now time.Time) *failure {
	if last := frames.end(); last.isEvent && whole(last.event) {
		last.raw = append(last.raw, "\n\n"...) // without a blank line the client would drop it
		if failure := r.handle(last, now); failure != nil {
			r.flush()
			return failure
		}
	}
	if !r.done && r.gate != nil {
		if failure := r.drain(now); failure != nil || r.blocked {
			r.flush()
			return failure
		}
	}
	if !r.done && r.answered() {
		r.complete(now)
		if failure := r.write([]byte("data: [DONE]\n\n"), true); failure != nil {
			return failure
		}
	}
	if !r.flush() {
		return clientGone()
	}
	switch {
	case r.done:
		return nil
	case ctx.Err() != nil:
		return interruption(ctx)
	}
	return interrupted("the upstream ended the stream before the answer was complete", readErr)
}

// whole tells a complete last event from one that the connection cut short.
func whole(e openai.Event) bool { return gjson.ValidBytes(e.Data) || string(e.Data) == "[DONE]" }

func interrupted(message string, cause error) *failure {
	return &failure{status: http.StatusBadGateway, outcome: outcomeInterrupted, remedy: anotherTry, cause: with(message, cause),
		body: openai.NewError("upstream_error", message, "", "stream_interrupted")}
}

func clientGone() *failure { return &failure{status: statusClientGone, outcome: outcomeClientGone} }

// write passes bytes on with the next flush. Until some of them are output, they are
// held back.
func (r *relay) write(p []byte, output bool) *failure {
	r.held = append(r.held, p...)
	if !r.x.committed {
		if !output && len(r.held) <= maxHeld {
			return nil
		}
		r.x.commitStream()
	}
	r.written = true
	return nil
}

// flush sends what awaits it, and reports whether the client is still there. All of
// it goes in one call: net/http makes one chunk of that, where smaller pieces would be
// cut wherever its buffer is full, and clients that decode each chunk meet halves of
// events.
func (r *relay) flush() bool {
	if !r.written {
		return true
	}
	r.written = false
	x := r.x
	x.deadline.within(x.patience()) // for all that this read brought
	_, err := x.w.Write(r.held)
	if r.held = r.held[:0]; cap(r.held) > largeHeld {
		r.held = nil
	}
	if err == nil {
		err = x.deadline.control.Flush()
	}
	return err == nil || errors.Is(err, http.ErrNotSupported) || x.caching.followed()
}

func (x *exchange) commitStream() {
	x.tellTaken()
	h := x.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no") // nginx and others in front must not buffer
	x.w.WriteHeader(http.StatusOK)
	x.committed = true
}

// writeErrorEvent tells the client of a failure inside a stream: one event, and
// no [DONE] after it.
func (x *exchange) writeErrorEvent(f *failure) {
	if f.body == nil {
		return
	}
	_, _ = x.w.Write(x.dialect.failed(f.body)) // the client may have left; there is nobody to tell
	_ = x.deadline.control.Flush()
}
