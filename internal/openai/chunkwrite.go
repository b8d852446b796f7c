package openai

import (
	"encoding/json"
	"strconv"

	"github.com/tidwall/gjson"
)

// ChunkEncoder writes the server-sent events of one streamed answer. It formats
// by appending, so an event with text alone costs no allocation once its buffer has
// grown. Each method returns a whole event that is valid until the next call.
type ChunkEncoder struct {
	chat  bool
	usage bool   // every chunk has a usage field, null unless given
	head  []byte // up to and including "choices":
	buf   []byte
}

// Delta is what one chunk says of a choice.
type Delta struct {
	Index     int
	Role      bool   // opens a chat
	Text      string // visible text
	Reasoning string
	Tools     []ToolDelta
	Logprobs  any // as in Choice
	TokenIDs  []int32
	Prompt    []int32 // its token numbers, in the first chunk
	Finish    string  // empty before the end
	Stopped   any     // stop_reason, at the end
}

// ToolDelta is a piece of a tool call. ID and Name come with the first.
type ToolDelta struct {
	Index     int
	ID, Name  string
	Arguments string
}

// NewChunkEncoder returns an encoder for a chat or a completion. With usage set,
// every chunk has a usage field, as OpenAI's servers do with include_usage.
func NewChunkEncoder(chat, usage bool, id string, created int64, model string) *ChunkEncoder {
	object := "text_completion"
	if chat {
		object = "chat.completion.chunk"
	}
	head := append([]byte(nil), `data: {"id":`...)
	head = gjson.AppendJSONString(head, id)
	head = append(head, `,"object":"`+object+`","created":`...)
	head = strconv.AppendInt(head, created, 10)
	head = append(head, `,"model":`...)
	head = gjson.AppendJSONString(head, model)
	head = append(head, `,"choices":`...)
	return &ChunkEncoder{chat: chat, usage: usage, head: head}
}

// Chunk is an event with a piece of one choice. u is the usage so far, or nil.
func (e *ChunkEncoder) Chunk(d *Delta, u *UsageReport) []byte {
	e.begin()
	e.buf = append(e.buf, `[{"index":`...)
	e.buf = strconv.AppendInt(e.buf, int64(d.Index), 10)
	if e.chat {
		e.message(d)
	} else {
		e.field(`,"text":`, d.Text)
	}
	e.buf = append(e.buf, `,"logprobs":`...)
	e.value(d.Logprobs)
	if d.Finish == "" {
		e.buf = append(e.buf, `,"finish_reason":null`...)
	} else {
		e.field(`,"finish_reason":`, d.Finish)
		e.buf = append(e.buf, `,"stop_reason":`...)
		e.value(d.Stopped)
	}
	for _, ids := range []struct {
		key  string
		list []int32
	}{{`,"token_ids":`, d.TokenIDs}, {`,"prompt_token_ids":`, d.Prompt}} {
		if ids.list != nil {
			e.buf = append(e.buf, ids.key...)
			e.value(ids.list)
		}
	}
	e.buf = append(e.buf, `}]`...)
	return e.end(u)
}

// message writes the delta of a chat.
func (e *ChunkEncoder) message(d *Delta) {
	e.buf = append(e.buf, `,"delta":{`...)
	begun := len(e.buf)
	switch {
	case d.Role:
		e.buf = append(e.buf, `"role":"assistant","content":""`...)
	case d.Text != "":
		e.field(`"content":`, d.Text)
	}
	if d.Reasoning != "" {
		e.comma(begun)
		e.field(`"reasoning_content":`, d.Reasoning)
	}
	if len(d.Tools) > 0 {
		e.comma(begun)
		e.tools(d.Tools)
	}
	e.buf = append(e.buf, '}')
}

func (e *ChunkEncoder) tools(tools []ToolDelta) {
	e.buf = append(e.buf, `"tool_calls":[`...)
	for i, t := range tools {
		if i > 0 {
			e.buf = append(e.buf, ',')
		}
		e.buf = append(e.buf, `{"index":`...)
		e.buf = strconv.AppendInt(e.buf, int64(t.Index), 10)
		if t.ID != "" {
			e.field(`,"id":`, t.ID)
			e.buf = append(e.buf, `,"type":"function"`...)
		}
		e.buf = append(e.buf, `,"function":{`...)
		if t.Name != "" {
			e.field(`"name":`, t.Name)
			e.buf = append(e.buf, ',')
		}
		e.field(`"arguments":`, t.Arguments)
		e.buf = append(e.buf, "}}"...)
	}
	e.buf = append(e.buf, ']')
}

// Usage is the chunk without choices that tells the usage at the end.
func (e *ChunkEncoder) Usage(u UsageReport) []byte {
	e.begin()
	e.buf = append(e.buf, `[]`...)
	return e.end(&u)
}

// Done is the event that ends a stream.
func (e *ChunkEncoder) Done() []byte { return []byte("data: [DONE]\n\n") }

// KeepAlive is a comment, which tells a client, and every hop before it, that the
// stream is alive. Readers of server-sent events skip it.
func (e *ChunkEncoder) KeepAlive() []byte { return []byte(": keep-alive\n\n") }

// Error is the event of an error after the stream began; no Done follows it.
func (e *ChunkEncoder) Error(err *Error) []byte {
	e.buf = append(e.buf[:0], "data: "...)
	e.buf = append(e.buf, ErrorBody(err)...)
	return append(e.buf, "\n\n"...)
}

func (e *ChunkEncoder) begin() { e.buf = append(e.buf[:0], e.head...) }

func (e *ChunkEncoder) field(key, text string) {
	e.buf = append(e.buf, key...)
	e.buf = gjson.AppendJSONString(e.buf, text)
}

func (e *ChunkEncoder) comma(begun int) {
	if len(e.buf) > begun {
		e.buf = append(e.buf, ',')
	}
}

// value appends any JSON value.
func (e *ChunkEncoder) value(v any) {
	if v == nil {
		e.buf = append(e.buf, "null"...)
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types always marshal
	}
	e.buf = append(e.buf, text...)
}

func (e *ChunkEncoder) end(u *UsageReport) []byte {
	switch {
	case u != nil:
		e.buf = append(e.buf, `,"usage":{"prompt_tokens":`...)
		e.buf = strconv.AppendInt(e.buf, int64(u.PromptTokens), 10)
		e.buf = append(e.buf, `,"completion_tokens":`...)
		e.buf = strconv.AppendInt(e.buf, int64(u.CompletionTokens), 10)
		e.buf = append(e.buf, `,"total_tokens":`...)
		e.buf = strconv.AppendInt(e.buf, int64(u.TotalTokens), 10)
		e.buf = append(e.buf, `,"prompt_tokens_details":{"cached_tokens":`...)
		e.buf = strconv.AppendInt(e.buf, int64(u.PromptTokensDetails.CachedTokens), 10)
		e.buf = append(e.buf, `}}`...)
	case e.usage:
		e.buf = append(e.buf, `,"usage":null`...)
	}
	e.buf = append(e.buf, "}\n\n"...)
	return e.buf
}
