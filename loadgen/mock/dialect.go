package mock

import (
	"fmt"
	"strconv"
	"strings"
)

// dialect writes the events of a stream as one API words them.
type dialect struct {
	begin    func(b []byte, s *stream) []byte // before the first token; may add nothing
	event    func(b []byte, s *stream, c chunk) []byte
	finish   func(b []byte, s *stream) []byte // after the last token
	document func(b []byte, s *stream) []byte // all of it as one JSON document
	numbered bool                             // no two events are the same
}

func nothing(b []byte, _ *stream) []byte { return b }

// completions is the dialect of POST /v1/completions.
func completions(id, model string, created int64) dialect {
	head := fmt.Sprintf(`{"id":"cmpl-%s","object":"text_completion","created":%d,"model":%s,"choices":[`, id, created, quoted(model))
	return dialect{
		begin: nothing,
		event: func(b []byte, s *stream, c chunk) []byte {
			b = append(append(append(b, "data: "...), head...), `{"index":0,"text":"`...)
			b = append(append(b, tokensText(c.n)...), `","finish_reason":null}]`...)
			return endChunk(b, s, c)
		},
		finish: func(b []byte, s *stream) []byte {
			b = append(append(append(b, "data: "...), head...), `{"index":0,"text":"","finish_reason":"`...)
			return tail(append(append(b, s.reason...), "\"}]}\n\n"...), s, head)
		},
		document: func(b []byte, s *stream) []byte {
			b = append(append(b, head...), fmt.Sprintf(`{"index":0,"text":"%s","logprobs":null,"finish_reason":"%s"}],`, tokensText(s.tokens), s.reason)...)
			return append(appendUsage(b, s.prompt, s.cached, s.tokens, s.reasoning), '}')
		},
	}
}

// chat is the dialect of POST /v1/chat/completions. The first event names the
// role and carries a token, so that no event comes without one before the end.
func chat(id, model string, created int64) dialect {
	head := func(object string) string {
		return fmt.Sprintf(`{"id":"chatcmpl-%s","object":"%s","created":%d,"model":%s,"choices":[`, id, object, created, quoted(model))
	}
	part := head("chat.completion.chunk")
	return dialect{
		begin: nothing,
		event: func(b []byte, s *stream, c chunk) []byte {
			b = append(append(append(b, "data: "...), part...), `{"index":0,"delta":{`...)
			if c.head {
				b = append(b, `"role":"assistant",`...)
			}
			switch c.channel {
			case content:
				b = append(append(append(b, `"content":"`...), tokensText(c.n)...), '"')
			case reasoning:
				for i, name := range s.names {
					if i > 0 {
						b = append(b, ',')
					}
					b = append(append(append(append(append(b, '"'), name...), `":"`...), tokensText(c.n)...), '"')
				}
			case toolCall:
				b = appendCall(b, c)
			}
			return endChunk(append(b, `},"finish_reason":null}]`...), s, c)
		},
		finish: func(b []byte, s *stream) []byte {
			b = append(append(append(b, "data: "...), part...), `{"index":0,"delta":{},"finish_reason":"`...)
			return tail(append(append(b, s.reason...), "\"}]}\n\n"...), s, part)
		},
		document: func(b []byte, s *stream) []byte {
			b = append(append(b, head("chat.completion")...), `{"index":0,"message":{"role":"assistant"`...)
			for _, name := range s.names {
				if s.reasoning > 0 {
					b = fmt.Appendf(b, `,"%s":"%s"`, name, tokensText(s.reasoning))
				}
			}
			if s.calls == 0 {
				b = fmt.Appendf(b, `,"content":"%s"`, tokensText(s.tokens-s.reasoning))
			} else {
				b = append(appendCalls(append(b, `,"content":null,"tool_calls":[`...), s), ']')
			}
			b = append(append(append(b, `},"finish_reason":"`...), s.reason...), `"}],`...)
			return append(appendUsage(b, s.prompt, s.cached, s.tokens, s.reasoning), '}')
		},
	}
}

// The arguments of a call are one JSON object over all of its chunks.
const (
	argumentsOpen  = `{\"text\":\"`
	argumentsClose = `\"}`
)

func appendCall(b []byte, c chunk) []byte {
	b = append(strconv.AppendInt(append(b, `"tool_calls":[{"index":`...), int64(c.call), 10), ',')
	if c.open {
		b = fmt.Appendf(b, `"id":"call_%d","type":"function","function":{"name":"write","arguments":"`+argumentsOpen, c.call)
	} else {
		b = append(b, `"function":{"arguments":"`...)
	}
	b = append(b, tokensText(c.n)...)
	if c.close {
		b = append(b, argumentsClose...)
	}
	return append(b, `"}}]`...)
}

// appendCalls writes the calls of a whole answer.
func appendCalls(b []byte, s *stream) []byte {
	rest := s.tokens - s.reasoning
	for i := range min(s.calls, rest) {
		n := rest / s.calls
		if i < rest%s.calls {
			n++
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":"call_%d","type":"function","function":{"name":"write","arguments":"%s%s%s"}}`, i, argumentsOpen, tokensText(n), argumentsClose)
	}
	return b
}

// endChunk ends the event of a chunk, with the tokens so far where they are
// wanted.
func endChunk(b []byte, s *stream, c chunk) []byte {
	if s.continuous {
		b = appendUsage(append(b, ','), s.prompt, s.cached, c.sent, min(c.sent, s.reasoning))
	}
	return append(b, "}\n\n"...)
}

// tail ends a stream.
func tail(b []byte, s *stream, head string) []byte {
	if s.usage {
		b = append(append(append(b, "data: "...), head...), "],"...)
		b = append(appendUsage(b, s.prompt, s.cached, s.tokens, s.reasoning), "}\n\n"...)
	}
	return append(b, Done...)
}

// responses is the dialect of POST /v1/responses. Its events have names and
// numbers, and there is no [DONE].
func responses(id, model string, created int64) dialect {
	number := 0
	event := func(b []byte, name, members string) []byte {
		b = fmt.Appendf(b, "event: %s\ndata: {\"type\":\"%s\",\"sequence_number\":%d,%s}\n\n", name, name, number, members)
		number++
		return b
	}
	response := func(status, output, usage string) string {
		return fmt.Sprintf(`{"id":"resp_%s","object":"response","created_at":%d,"status":"%s","model":%s,"output":[%s],"usage":%s}`,
			id, created, status, quoted(model), output, usage)
	}
	message := func(s *stream) string {
		return fmt.Sprintf(`{"id":"msg_%s","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"%s","annotations":[]}]}`,
			id, tokensText(s.tokens-s.reasoning))
	}
	whole := func(s *stream) string {
		status := "completed"
		if s.reason == "length" {
			status = "incomplete"
		}
		usage := fmt.Sprintf(`{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`,
			s.prompt, s.cached, s.tokens, s.reasoning, s.prompt+s.tokens)
		return response(status, message(s), usage)
	}
	item := fmt.Sprintf(`"item_id":"msg_%s","output_index":0,"content_index":0`, id)
	return dialect{
		numbered: true,
		begin: func(b []byte, _ *stream) []byte {
			return event(b, "response.created", `"response":`+response("in_progress", "", "null"))
		},
		event: func(b []byte, s *stream, c chunk) []byte {
			if c.channel == reasoning {
				return event(b, "response.reasoning_text.delta", item+`,"delta":"`+tokensText(c.n)+`"`)
			}
			if c.sent-c.n == s.reasoning {
				b = event(b, "response.output_item.added", fmt.Sprintf(`"output_index":0,"item":{"id":"msg_%s","type":"message","status":"in_progress","role":"assistant","content":[]}`, id))
				b = event(b, "response.content_part.added", item+`,"part":{"type":"output_text","text":"","annotations":[]}`)
			}
			return event(b, "response.output_text.delta", item+`,"delta":"`+tokensText(c.n)+`"`)
		},
		finish: func(b []byte, s *stream) []byte {
			b = event(b, "response.output_text.done", item+`,"text":"`+tokensText(s.tokens-s.reasoning)+`"`)
			b = event(b, "response.output_item.done", `"output_index":0,"item":`+message(s))
			name := "response.completed"
			if s.reason == "length" {
				name = "response.incomplete"
			}
			return event(b, name, `"response":`+whole(s))
		},
		document: func(b []byte, s *stream) []byte { return append(b, whole(s)...) },
	}
}

// embedding is a vector that depends on the text alone.
func embedding(index, dimension int, text string) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"object":"embedding","index":%d,"embedding":[`, index)
	h := hashText(text)
	for i := range dimension {
		if i > 0 {
			b.WriteByte(',')
		}
		h = h*6364136223846793005 + 1442695040888963407 // Knuth, TAOCP 3.3.4: MMIX's generator
		b.WriteString(strconv.FormatFloat(float64(int32(h>>32))/(1<<31), 'f', 6, 64))
	}
	b.WriteString("]}")
	return b.String()
}
