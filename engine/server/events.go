package server

import (
	"net/http"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
)

// eventWriter writes a request's events as server-sent events, each flushed as
// soon as it is written. After an error, which means that the client has left,
// it writes nothing more.
type eventWriter struct {
	encoder    *openai.ChunkEncoder
	w          http.ResponseWriter
	control    *http.ResponseController
	usage      func(engine.Event) openai.UsageReport
	include    bool // one chunk with usage at the end
	continuous bool // usage in every chunk
	err        error
}

// role opens a chat.
func (o *eventWriter) role(first engine.Event) {
	var u *openai.UsageReport
	if o.continuous {
		none := o.usage(engine.Event{Cached: first.Cached})
		u = &none
	}
	o.write(o.encoder.Role(u))
}

func (o *eventWriter) event(e engine.Event) {
	if e.Text != "" {
		o.write(o.encoder.Text(e.Text, o.running(e)))
	}
	switch e.Finish {
	case sched.Running:
	case sched.Stop, sched.Length:
		o.write(o.encoder.Finish(string(e.Finish), o.running(e)))
		if o.include {
			o.write(o.encoder.Usage(o.usage(e)))
		}
		o.write(o.encoder.Done())
	case sched.Aborted:
		o.write(o.encoder.Error(openai.NewError("server_error", engine.ErrClosed.Error(), "", "overloaded")))
	default:
		o.write(o.encoder.Error(openai.NewError("server_error", failedMessage, "", "")))
	}
	o.flush()
}

func (o *eventWriter) running(e engine.Event) *openai.UsageReport {
	if !o.continuous {
		return nil
	}
	u := o.usage(e)
	return &u
}

func (o *eventWriter) write(event []byte) {
	if o.err == nil {
		_, o.err = o.w.Write(event)
	}
}

func (o *eventWriter) flush() {
	if o.err == nil {
		o.err = o.control.Flush()
	}
}
