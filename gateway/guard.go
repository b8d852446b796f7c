package gateway

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/check"
	"github.com/llmctl/llmctl/internal/openai"
)

// passage is an event on its way to the client.
type passage struct {
	raw    []byte
	output bool
}

// newGate returns a gate for a stream, or nil when the alias filters none.
func (m *model) newGate() *check.Gate[passage] {
	if len(m.output) == 0 {
		return nil
	}
	return &check.Gate[passage]{Filters: m.output}
}

// guard passes an event on when its filters have seen enough of what follows, and
// ends the answer when one of them matches.
func (r *relay) guard(f frame, p passage, done bool, now time.Time) *failure {
	parts, ended := spoken(f.event)
	p.raw = bytes.Clone(p.raw) // it may wait longer than the frame lives
	pass, hit := r.gate.Push(p, parts)
	for _, choice := range ended {
		if hit == nil {
			var more []passage
			more, hit = r.gate.End(choice, false)
			pass = append(pass, more...)
		}
	}
	if done && hit == nil {
		var more []passage
		more, hit = r.gate.End(0, true)
		pass = append(pass, more...)
	}
	if hit != nil {
		return r.block(hit, now)
	}
	if done {
		r.complete(now)
		r.timers.linger(lingering)
	}
	return r.writeAll(pass)
}

// drain passes on what still waits when the stream is over.
func (r *relay) drain(now time.Time) *failure {
	pass, hit := r.gate.End(0, true)
	if hit != nil {
		return r.block(hit, now)
	}
	return r.writeAll(pass)
}

func (r *relay) writeAll(pass []passage) *failure {
	for _, p := range pass {
		if f := r.write(p.raw, p.output); f != nil {
			return f
		}
	}
	return nil
}

// block ends an answer that a filter forbids: what waits stays here, and the
// client hears the reason. The upstream is told to stop.
func (r *relay) block(hit *check.Filter, now time.Time) *failure {
	x := r.x
	x.block(hit)
	r.blocked = true
	if !x.dialect.options {
		return filtered(hit, "")
	}
	r.complete(now)
	var last []byte
	for i := range r.choices {
		last = append(last, x.filteredEvent(i)...)
	}
	return r.write(append(last, "data: [DONE]\n\n"...), true)
}

// filteredEvent is the chunk that ends a choice with the filter's reason.
func (x *exchange) filteredEvent(choice int64) string {
	object, text := "text_completion", `"text":""`
	if x.dialect == &chat {
		object, text = "chat.completion.chunk", `"delta":{}`
	}
	return fmt.Sprintf(`data: {"id":%q,"object":%q,"created":%d,"model":%s,"choices":[{"index":%d,%s,"finish_reason":%q}]}`+"\n\n",
		x.id, object, x.began.Unix(), gjson.AppendJSONString(nil, x.model.alias), choice, text, check.Code)
}

// spoken are the pieces of text that an event brings, and the choices that it
// ends.
func spoken(e openai.Event) (parts []check.Part, ended []int64) {
	document := gjson.ParseBytes(e.Data)
	if kind := document.Get("type").Str; strings.HasSuffix(kind, ".delta") { // of the Responses API
		channel := check.Channel{Choice: document.Get("output_index").Int(), Name: kind, Call: document.Get("content_index").Int()}
		return append(parts, check.Part{Channel: channel, Text: document.Get("delta").Str}), nil
	}
	document.Get("choices").ForEach(func(_, choice gjson.Result) bool {
		index := choice.Get("index").Int()
		choice.ForEach(func(key, value gjson.Result) bool {
			switch key.Str {
			case "text":
				parts = append(parts, check.Part{Channel: check.Channel{Choice: index, Name: "text"}, Text: value.Str})
			case "delta":
				parts = spokenInDelta(parts, index, value)
			case "finish_reason":
				if value.Str != "" {
					ended = append(ended, index)
				}
			}
			return true
		})
		return true
	})
	return parts, ended
}

func spokenInDelta(parts []check.Part, choice int64, delta gjson.Result) []check.Part {
	delta.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "content", "reasoning_content", "reasoning", "refusal":
			parts = append(parts, check.Part{Channel: check.Channel{Choice: choice, Name: key.Str}, Text: value.Str})
		case "tool_calls":
			value.ForEach(func(_, call gjson.Result) bool {
				channel := check.Channel{Choice: choice, Name: key.Str, Call: call.Get("index").Int()}
				parts = append(parts, check.Part{Channel: channel, Text: call.Get("function.arguments").Str})
				return true
			})
		}
		return true
	})
	return parts
}
