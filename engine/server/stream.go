package server

import (
	"context"
	"net/http"
	"time"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
)

// events writes an answer as server-sent events, each flushed as soon as it is
// written. After an error, which means that the client has left, it writes nothing
// more.
type events struct {
	answer     *answer
	encoder    *openai.ChunkEncoder
	w          http.ResponseWriter
	control    *http.ResponseController
	include    bool // one chunk with usage at the end
	continuous bool // usage in every chunk
	open       bool // the status is sent
	delta      openai.Delta
	err        error
}

// stream sends the answer piece by piece. The status goes with the first token, not
// before, as in vLLM: until then the answer can still be an error with its own. Where
// that takes longer than a keep-alive may wait, the comment goes first.
func (in *incoming) stream(ctx context.Context, w http.ResponseWriter) {
	a := in.answer
	o := a.body.StreamOptions
	if o == nil {
		o = &openai.StreamOptions{}
	}
	out := &events{
		answer: a, w: w, control: http.NewResponseController(w),
		encoder: openai.NewChunkEncoder(a.chat, o.IncludeUsage, a.id, a.server.Now().Unix(), a.server.name()),
		include: o.IncludeUsage, continuous: o.IncludeUsage && o.ContinuousUsageStats,
	}
	quiet := time.NewTimer(a.server.KeepAlive)
	defer quiet.Stop()
	running := len(a.choices)
	for running > 0 && out.err == nil {
		select {
		case e, ok := <-in.events:
			if !ok || ctx.Err() != nil {
				out.gone()
				return
			}
			first := !a.started
			c := in.note(&e)
			if unanswered(e.Finish) {
				out.fail(e.Finish)
				return
			}
			if first {
				out.begin()
				out.roles()
			}
			out.event(c, &e.Event)
			if e.Finish != sched.Running {
				running--
			}
			if running == 0 {
				out.end()
			}
		case <-quiet.C:
			out.begin()
			out.write(out.encoder.KeepAlive())
		}
		out.flush()
		quiet.Reset(a.server.KeepAlive)
	}
}

// begin sends the status, once.
func (o *events) begin() {
	if o.open {
		return
	}
	o.open = true
	h := o.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	if o.answer.started {
		tellQueue(h, o.answer.queued)
	}
}

// gone ends the answer to a client that has left.
func (o *events) gone() {
	if !o.open {
		tellGone(o.w)
	}
}

// fail says that there will be no answer, with a status of its own while there can be
// one.
func (o *events) fail(reason sched.FinishReason) {
	switch {
	case !o.open:
		refuseUnanswered(o.w, reason)
		return
	case reason == sched.Aborted:
		o.write(o.encoder.Error(openai.NewError("server_error", engine.ErrClosed.Error(), "", "overloaded")))
	default:
		o.write(o.encoder.Error(openai.NewError("server_error", failedMessage, "", "")))
	}
	o.flush()
}

// roles open all answers of a chat.
func (o *events) roles() {
	if !o.answer.chat {
		return
	}
	for _, c := range o.answer.choices {
		d := openai.Delta{Index: c.index, Role: true}
		if o.answer.body.ReturnTokenIDs {
			d.Prompt = o.answer.prompts[c.prompt].tokens
		}
		o.write(o.encoder.Chunk(&d, o.running(c)))
	}
}

// event writes what an event says of its choice.
func (o *events) event(c *choice, e *engine.Event) {
	opens := !c.begun
	said := c.take(e)
	d := &o.delta
	*d = openai.Delta{Index: c.index, Text: said.Content, Reasoning: said.Reasoning}
	for _, call := range said.Calls {
		d.Tools = append(d.Tools, openai.ToolDelta(call))
	}
	if opens && !o.answer.chat && o.answer.body.ReturnTokenIDs {
		d.Prompt = o.answer.prompts[c.prompt].tokens
	}
	if d.Text != "" || d.Reasoning != "" || len(d.Tools) > 0 || d.Prompt != nil {
		d.Logprobs, d.TokenIDs = c.logprobs(), c.tokenIDs()
		o.write(o.encoder.Chunk(d, o.running(c)))
	}
	if e.Finish == sched.Running {
		return
	}
	*d = openai.Delta{Index: c.index, Finish: c.reason(), Stopped: c.stopReason(), TokenIDs: c.tokenIDs()}
	if c.untold() {
		d.Logprobs = c.logprobs()
	}
	o.write(o.encoder.Chunk(d, o.running(c)))
}

// end is what follows the last choice's end.
func (o *events) end() {
	if o.include {
		o.write(o.encoder.Usage(o.answer.usage()))
	}
	o.write(o.encoder.Done())
}

// running is the usage of a choice so far, where every chunk has it.
func (o *events) running(c *choice) *openai.UsageReport {
	if !o.continuous {
		return nil
	}
	p := &o.answer.prompts[c.prompt]
	u := openai.NewUsageReport(len(p.tokens), c.output, p.cached)
	return &u
}

func (o *events) write(event []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(event)
	}
}

func (o *events) flush() {
	if o.err == nil {
		o.err = o.control.Flush()
	}
}
