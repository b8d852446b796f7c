package openai

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// UsageReport counts the tokens of one request.
type UsageReport struct {
	PromptTokens        int                 `json:"prompt_tokens"`
	CompletionTokens    int                 `json:"completion_tokens"`
	TotalTokens         int                 `json:"total_tokens"`
	PromptTokensDetails PromptTokensDetails `json:"prompt_tokens_details"`
}

// PromptTokensDetails says how many prompt tokens came from the prefix cache.
type PromptTokensDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// NewUsageReport returns the usage of a request.
func NewUsageReport(prompt, completion, cached int) UsageReport {
	return UsageReport{prompt, completion, prompt + completion, PromptTokensDetails{cached}}
}

// Completion is the answer to either kind of request when it is not streamed.
type Completion struct {
	ID      string      `json:"id"`
	Object  string      `json:"object"` // "chat.completion" or "text_completion"
	Created int64       `json:"created"`
	Model   string      `json:"model"`
	Choices []Choice    `json:"choices"`
	Usage   UsageReport `json:"usage"`
}

// Choice is one answer: Message in a chat, Text in a completion.
type Choice struct {
	Index        int     `json:"index"`
	Message      *Answer `json:"message,omitempty"`
	Text         *string `json:"text,omitempty"`
	FinishReason string  `json:"finish_reason"`
}

// Answer is the assistant's message.
type Answer struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Model is an entry of GET /v1/models. MaxModelLen is vLLM's addition.
type Model struct {
	ID          string  `json:"id"`
	Object      string  `json:"object"`
	Created     int64   `json:"created"`
	OwnedBy     string  `json:"owned_by"`
	Root        string  `json:"root"`
	Parent      *string `json:"parent"`
	MaxModelLen int     `json:"max_model_len"`
}

// ModelList is the answer to GET /v1/models.
type ModelList struct {
	Object string  `json:"object"`
	Data   []Model `json:"data"`
}

// ChunkEncoder writes the server-sent events of one streamed answer. It formats
// by appending, so an event costs no allocation once its buffer has grown. Each
// method returns a whole event that is valid until the next call.
type ChunkEncoder struct {
	chat  bool
	usage bool   // every chunk has a usage field, null unless given
	head  []byte // up to and including "choices":
	buf   []byte
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

// Role is the chunk that opens a chat.
func (e *ChunkEncoder) Role(u *UsageReport) []byte {
	e.begin()
	e.buf = append(e.buf, `[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]`...)
	return e.end(u)
}

// Text is a chunk with a piece of the answer.
func (e *ChunkEncoder) Text(text string, u *UsageReport) []byte {
	e.begin()
	e.choice(text, true)
	e.buf = append(e.buf, `null}]`...)
	return e.end(u)
}

// Finish is the chunk that ends the choice.
func (e *ChunkEncoder) Finish(reason string, u *UsageReport) []byte {
	e.begin()
	e.choice("", false)
	e.buf = gjson.AppendJSONString(e.buf, reason)
	e.buf = append(e.buf, `}]`...)
	return e.end(u)
}

// Usage is the chunk without choices that tells the usage at the end.
func (e *ChunkEncoder) Usage(u UsageReport) []byte {
	e.begin()
	e.buf = append(e.buf, `[]`...)
	return e.end(&u)
}

// Done is the event that ends a stream.
func (e *ChunkEncoder) Done() []byte { return []byte("data: [DONE]\n\n") }

// Error is the event of an error after the stream began; no Done follows it.
func (e *ChunkEncoder) Error(err *Error) []byte {
	e.buf = append(e.buf[:0], "data: "...)
	e.buf = append(e.buf, ErrorBody(err)...)
	return append(e.buf, "\n\n"...)
}

func (e *ChunkEncoder) begin() { e.buf = append(e.buf[:0], e.head...) }

// choice writes the only choice up to the value of finish_reason.
func (e *ChunkEncoder) choice(text string, withText bool) {
	switch {
	case e.chat && withText:
		e.buf = append(e.buf, `[{"index":0,"delta":{"content":`...)
		e.buf = gjson.AppendJSONString(e.buf, text)
		e.buf = append(e.buf, '}')
	case e.chat:
		e.buf = append(e.buf, `[{"index":0,"delta":{}`...)
	default:
		e.buf = append(e.buf, `[{"index":0,"text":`...)
		e.buf = gjson.AppendJSONString(e.buf, text)
	}
	e.buf = append(e.buf, `,"logprobs":null,"finish_reason":`...)
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
