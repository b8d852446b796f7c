package anthropic

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// stream translates the events of one answer, each as it comes. It keeps counts
// and names, never content.
type stream struct {
	created int64 // Unix seconds

	head     []byte // of every chunk
	counts   usage
	calls    int    // tool calls so far
	inCall   bool   // the open block is one
	input    []byte // its arguments, as long as no piece of them has come
	finished bool   // a finish reason has passed
	done     bool
}

// append adds to dst the chunks that an event becomes, as events of OpenAI's
// stream: mostly one, for some events none.
func (s *stream) append(dst []byte, e openai.Event) []byte {
	if s.done {
		return dst
	}
	if !readable(e.Data) {
		if s.finished || len(bytes.TrimSpace(e.Data)) == 0 {
			return dst // nothing is missing any more, or nothing was said
		}
		return s.fail(dst, openai.NewError("upstream_error", "the provider sent an event that is not a JSON object", "", "upstream_error"))
	}
	var kind string
	var delta, block, message, counts gjson.Result
	gjson.ParseBytes(e.Data).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "type":
			kind = value.Str
		case "delta":
			delta = value
		case "content_block":
			block = value
		case "message":
			message = value
		case "usage":
			counts = value
		}
		return true
	})
	if len(s.head) == 0 && (strings.HasPrefix(kind, "content_block_") || kind == "message_delta") {
		return s.fail(dst, openai.NewError("upstream_error", "the provider's stream began without message_start", "", "upstream_error"))
	}
	switch kind {
	case "message_start":
		return s.start(dst, message)
	case "content_block_start":
		return s.open(dst, block)
	case "content_block_delta":
		return s.piece(dst, delta)
	case "content_block_stop":
		return s.close(dst)
	case "message_delta":
		s.counts.read(counts)
		return s.finish(dst, delta.Get("stop_reason"))
	case "message_stop":
		return s.end(dst)
	case "error":
		return s.fail(dst, Failure(0, e.Data))
	}
	return dst // ping, and what later versions of the API add
}

// readable tells whether an event is a JSON object that clients could read, whose
// pieces pass as they are written. json.Valid bounds the nesting, too.
func readable(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte{'{'}) && utf8.Valid(data) && json.Valid(data)
}

func (s *stream) start(dst []byte, message gjson.Result) []byte {
	s.counts.read(message.Get("usage"))
	s.head = append(s.head[:0], `data: {"id":`...)
	s.head = gjson.AppendJSONString(s.head, message.Get("id").Str)
	s.head = append(s.head, `,"object":"chat.completion.chunk","created":`...)
	s.head = strconv.AppendInt(s.head, s.created, 10)
	s.head = append(s.head, `,"model":`...)
	s.head = gjson.AppendJSONString(s.head, message.Get("model").Str)
	s.head = append(s.head, `,"choices":[`...)
	return s.chunk(dst, `"role":"assistant","content":`, `""`)
}

// open begins a block. A text may come with its first piece already; a tool call
// comes with its name, and its arguments follow.
func (s *stream) open(dst []byte, block gjson.Result) []byte {
	dst = s.close(dst)
	switch block.Get("type").Str {
	case "text":
		return s.text(dst, `"content":`, block.Get("text"))
	case "thinking":
		return s.text(dst, `"reasoning_content":`, block.Get("thinking"))
	case "redacted_thinking":
		if data := block.Get("data"); data.Type == gjson.String {
			return s.chunk(dst, `"thinking_blocks":`, `[{"type":"redacted_thinking","data":`+data.Raw+`}]`)
		}
	case "tool_use":
		s.inCall = true
		s.input = append(s.input[:0], block.Get("input").Raw...)
		s.calls++
		return s.chunk(dst, `"tool_calls":`, `[{"index":`+strconv.Itoa(s.calls-1)+`,"id":`+quote(block.Get("id").Str)+
			`,"type":"function","function":{"name":`+quote(block.Get("name").Str)+`,"arguments":""}}]`)
	}
	return dst
}

func (s *stream) piece(dst []byte, delta gjson.Result) []byte {
	switch delta.Get("type").Str {
	case "text_delta":
		return s.text(dst, `"content":`, delta.Get("text"))
	case "thinking_delta":
		return s.text(dst, `"reasoning_content":`, delta.Get("thinking"))
	case "signature_delta":
		if v := delta.Get("signature"); v.Type == gjson.String && v.Str != "" {
			return s.chunk(dst, `"thinking_blocks":`, `[{"type":"thinking","thinking":"","signature":`+v.Raw+`}]`)
		}
	case "input_json_delta":
		if v := delta.Get("partial_json"); s.inCall && v.Type == gjson.String && v.Str != "" {
			s.input = s.input[:0]
			return s.arguments(dst, v.Raw)
		}
	}
	return dst
}

// close ends the open block. Arguments of which no piece came, as of a function
// that takes none, are sent as the object with which the block began: clients
// parse them as JSON, and nothing is none.
func (s *stream) close(dst []byte) []byte {
	if s.inCall && len(s.input) > 0 {
		dst = s.arguments(dst, quote(string(s.input)))
	}
	s.inCall, s.input = false, s.input[:0]
	return dst
}

func (s *stream) arguments(dst []byte, text string) []byte {
	dst = append(append(dst, s.head...), `{"index":0,"delta":{"tool_calls":[{"index":`...)
	dst = strconv.AppendInt(dst, int64(s.calls-1), 10)
	dst = append(append(append(dst, `,"function":{"arguments":`...), text...), "}}]}"...)
	return s.tail(dst, "null")
}

func (s *stream) text(dst []byte, field string, v gjson.Result) []byte {
	if v.Type != gjson.String || v.Str == "" {
		return dst
	}
	return s.chunk(dst, field, v.Raw)
}

// chunk adds a chunk whose delta has one field.
func (s *stream) chunk(dst []byte, field, value string) []byte {
	dst = append(append(dst, s.head...), `{"index":0,"delta":{`...)
	dst = append(append(append(dst, field...), value...), '}')
	return s.tail(dst, "null")
}

func (s *stream) tail(dst []byte, finish string) []byte {
	dst = append(append(dst, `,"logprobs":null,"finish_reason":`...), finish...)
	return append(dst, "}],\"usage\":null}\n\n"...)
}

func (s *stream) finish(dst []byte, stop gjson.Result) []byte {
	if stop.Type != gjson.String || s.finished {
		return dst
	}
	s.finished = true
	dst = append(append(s.close(dst), s.head...), `{"index":0,"delta":{}`...)
	return s.tail(dst, `"`+finishReason(stop.Str)+`"`)
}

// end adds the chunk with usage and the end marker. A stream that stops after its
// finish reason ends in the same way; one that stops before it has no end.
func (s *stream) end(dst []byte) []byte {
	if s.done || !s.finished {
		return dst
	}
	s.done = true
	if s.counts.known {
		dst = append(append(dst, s.head...), `],"usage":`...)
		dst = append(s.counts.append(dst), "}\n\n"...)
	}
	return append(dst, "data: [DONE]\n\n"...)
}

func (s *stream) fail(dst []byte, problem *openai.Error) []byte {
	s.done = true
	return append(append(append(dst, "data: "...), openai.ErrorBody(problem)...), "\n\n"...)
}
