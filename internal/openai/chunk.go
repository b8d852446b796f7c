package openai

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/llmctl/llmctl/internal/jsonscan"
	"github.com/llmctl/llmctl/internal/optional"
)

// ErrNotChunk reports the data of an event that is neither a JSON object nor
// the end marker.
var ErrNotChunk = errors.New("event is not a JSON object")

// Chunk is what one event of a stream says, for chat completions, completions
// and the Responses API alike; Parse fills it. It also reads the body of an
// answer that was not streamed, and of an error. Byte slices alias the data given to Parse
// and are valid as long as that is.
//
// Fields of an unexpected type are taken as absent, since servers disagree on
// what they send when they have nothing to say (null, "", [], {}).
type Chunk struct {
	Done bool // the end marker [DONE]

	Choices   int  // length of choices
	Opened    Set  // choices that carry output
	Ended     Set  // choices with a finish_reason
	Content   bool // some choice carries visible text
	Reasoning bool // some choice carries reasoning text
	ToolCall  bool // some choice carries a piece of a tool call
	Embedding bool // the answer is a list with an embedding
	Role      bool // some choice names the role

	// Finish is the last finish_reason that is not empty, as in the JSON. Of the
	// Responses API it is why the response is incomplete, else its status.
	Finish []byte
	Usage  Usage // zero when the chunk has none
	Failed bool  // the chunk is an error

	texts, thoughts        [][]byte // of the choice with index 0, as in the JSON
	tools                  [][]byte // its tool_calls, as in the JSON
	call                   []byte   // a whole call of the Responses API
	message, kind, problem []byte   // the message and type of an error, another server's words for it
}

// Set is a set of choices by index, those from 63 on as one.
type Set uint64

// SetOf is the set of one choice.
func SetOf(index int) Set { return 1 << min(max(index, 0), 63) }

// Usage is the server's count of tokens; each field is absent when the server
// does not tell. Completion includes Reasoning, Prompt includes Cached.
type Usage struct {
	Prompt, Completion, Total, Cached, Reasoning optional.Count

	Implausible bool // some field is a number that can not be a count, and absent
}

// Output reports whether the chunk carries generated output in any channel. A
// role or an empty delta is none.
func (c *Chunk) Output() bool { return c.Reasoning || c.Visible() }

// Visible reports whether the chunk carries output that a user gets to see.
func (c *Chunk) Visible() bool { return c.Content || c.ToolCall || c.Embedding }

// AppendText appends the decoded visible text of the first choice.
func (c *Chunk) AppendText(dst []byte) []byte { return appendAll(dst, c.texts) }

// AppendReasoning appends the decoded reasoning text of the first choice. A
// text that is sent both as reasoning_content and as reasoning counts once.
func (c *Chunk) AppendReasoning(dst []byte) []byte { return appendAll(dst, c.thoughts) }

func appendAll(dst []byte, texts [][]byte) []byte {
	for _, text := range texts {
		dst = jsonscan.AppendUnquoted(dst, text)
	}
	return dst
}

// ToolCalls are the values of tool_calls of the first choice, each a JSON array
// of pieces of calls; empty when it has none.
func (c *Chunk) ToolCalls() [][]byte { return c.tools }

// Call is a tool call that the Responses API sends in whole, when all of it has
// been sent in pieces: a JSON object, nil when there is none.
func (c *Chunk) Call() []byte { return c.call }

// FinishReason is the decoded finish reason, empty when there is none.
func (c *Chunk) FinishReason() string { return string(jsonscan.AppendUnquoted(nil, c.Finish)) }

// ErrorMessage is what the server says went wrong: the message of the error
// object, else the detail that FastAPI servers send, else its type, else the
// finish_reason that says so.
func (c *Chunk) ErrorMessage() string {
	for _, text := range [][]byte{c.message, c.problem, c.kind} {
		if len(text) > 0 {
			return string(jsonscan.AppendUnquoted(nil, text))
		}
	}
	if failing(c.Finish) {
		return "finish_reason " + c.FinishReason()
	}
	return ""
}

// failing reports whether a finish_reason, or the status of a response, is not
// that of an answer that came to its end: abort is that of vLLM and SGLang, the
// last one of DeepSeek.
func failing(finish []byte) bool {
	switch string(finish) {
	case "error", "failed", "abort", "aborted", "cancelled", "canceled", "insufficient_system_resource":
		return true
	}
	return false
}

var doneMarker = []byte("[DONE]")

// Parse reads the data of one event. The data is checked to be JSON exactly as
// encoding/json does (RFC 8259, 10,000 levels at most); of a key that appears
// twice the last counts. In steady state Parse does not allocate.
func (c *Chunk) Parse(data []byte) error {
	*c = Chunk{texts: c.texts[:0], thoughts: c.thoughts[:0], tools: c.tools[:0]}
	if bytes.Equal(bytes.TrimSpace(data), doneMarker) {
		c.Done = true
		return nil
	}
	s := jsonscan.New(data)
	if s.Peek() != '{' {
		return fmt.Errorf("%w: it begins with %q", ErrNotChunk, clip(data))
	}
	c.document(&s)
	s.End()
	if s.Bad() {
		return fmt.Errorf("%w: bad JSON at byte %d of %d", ErrNotChunk, s.Pos(), len(data))
	}
	return nil
}

func clip(data []byte) []byte { return bytes.TrimSpace(data[:min(len(data), 40)]) }
