package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/tidwall/gjson"
)

// Answer translates a whole message into a chat completion that was created at
// a time in Unix seconds.
func Answer(message []byte, created int64) ([]byte, error) {
	if !json.Valid(message) { // it bounds the nesting, too
		return nil, errors.New("message is not valid JSON")
	}
	m := gjson.ParseBytes(message)
	if kind := m.Get("type").Str; kind != "message" {
		return nil, fmt.Errorf("expected an object of type message, got %q", brief(kind))
	}
	var parts parts
	m.Get("content").ForEach(func(_, block gjson.Result) bool {
		parts.add(block)
		return true
	})
	var counts usage
	counts.read(m.Get("usage"))

	out := make([]byte, 0, len(message)+512)
	out = append(out, `{"id":`...)
	out = gjson.AppendJSONString(out, m.Get("id").Str)
	out = append(out, `,"object":"chat.completion","created":`...)
	out = strconv.AppendInt(out, created, 10)
	out = append(out, `,"model":`...)
	out = gjson.AppendJSONString(out, m.Get("model").Str)
	out = append(out, `,"choices":[{"index":0,"message":`...)
	out = parts.append(out)
	out = append(out, `,"logprobs":null,"finish_reason":"`+finishReason(m.Get("stop_reason").Str)+`"}],"usage":`...)
	out = counts.append(out)
	return append(out, '}'), nil
}

// parts is a message's content, sorted by where OpenAI's shape has it.
type parts struct {
	text, thought   []byte
	said            bool   // there was text, be it empty
	calls, thinking []byte // lists without their brackets
}

func (p *parts) add(block gjson.Result) {
	switch block.Get("type").Str {
	case "text":
		p.text = append(p.text, block.Get("text").Str...)
		p.said = true
	case "thinking":
		thought := block.Get("thinking").Str
		p.thought = append(p.thought, thought...)
		p.thinking = appendItem(p.thinking, `{"type":"thinking","thinking":`+quote(thought)+`,"signature":`+quote(block.Get("signature").Str)+`}`)
	case "redacted_thinking":
		p.thinking = appendItem(p.thinking, `{"type":"redacted_thinking","data":`+quote(block.Get("data").Str)+`}`)
	case "tool_use":
		input := block.Get("input").Raw
		if input == "" {
			input = "{}"
		}
		p.calls = appendItem(p.calls, `{"id":`+quote(block.Get("id").Str)+`,"type":"function","function":{"name":`+
			quote(block.Get("name").Str)+`,"arguments":`+quote(input)+`}}`)
	}
}

func (p *parts) append(out []byte) []byte {
	out = append(out, `{"role":"assistant","content":`...)
	if p.said {
		out = gjson.AppendJSONString(out, string(p.text))
	} else {
		out = append(out, "null"...)
	}
	out = append(out, `,"refusal":null`...)
	if len(p.thought) > 0 {
		out = gjson.AppendJSONString(append(out, `,"reasoning_content":`...), string(p.thought))
	}
	if len(p.thinking) > 0 {
		out = append(append(append(out, `,"thinking_blocks":[`...), p.thinking...), ']')
	}
	if len(p.calls) > 0 {
		out = append(append(append(out, `,"tool_calls":[`...), p.calls...), ']')
	}
	return append(out, '}')
}

func quote(s string) string { return string(gjson.AppendJSONString(nil, s)) }
