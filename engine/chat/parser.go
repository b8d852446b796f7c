package chat

import (
	"encoding/hex"
	"fmt"
	"io"
	"strings"
)

// Parser reads an answer's text as it comes. However the text is cut, the deltas put
// together are the same. A Parser is for one answer.
type Parser interface {
	// Push adds a piece of text and returns what is now certain.
	Push(text string) Delta
	// Flush ends the text and returns the rest.
	Flush() Delta
}

// Delta is a piece of an answer.
type Delta struct {
	Content   string
	Reasoning string
	Calls     []CallDelta
}

// Empty reports whether there is nothing in it.
func (d Delta) Empty() bool { return d.Content == "" && d.Reasoning == "" && len(d.Calls) == 0 }

// CallDelta is a piece of a tool call. The first one of an index has its ID and
// name; Arguments of all of them together are JSON, as far as the model wrote it.
type CallDelta struct {
	Index     int
	ID, Name  string
	Arguments string
}

// Chain parses the content that one parser yields with the next: reasoning first,
// then tool calls. Either may be nil.
func Chain(first, next Parser) Parser {
	switch {
	case first == nil && next == nil:
		return plain{}
	case first == nil:
		return next
	case next == nil:
		return first
	}
	return chained{first, next}
}

type chained struct{ first, next Parser }

func (c chained) Push(text string) Delta { return c.pass(c.first.Push(text)) }

func (c chained) Flush() Delta {
	d := c.pass(c.first.Flush())
	rest := c.next.Flush()
	d.Content += rest.Content
	d.Calls = append(d.Calls, rest.Calls...)
	return d
}

func (c chained) pass(d Delta) Delta {
	out := Delta{}
	if d.Content != "" {
		out = c.next.Push(d.Content)
	}
	out.Reasoning = d.Reasoning
	return out
}

// plain takes all text as content.
type plain struct{}

func (plain) Push(text string) Delta { return Delta{Content: text} }
func (plain) Flush() Delta           { return Delta{} }

// ToolOptions are what tool parsers share.
type ToolOptions struct {
	Random io.Reader // for the ids of calls, 16 bytes each
	Single bool      // parallel_tool_calls is false: calls after the first are dropped
}

// id is a call's id, as vLLM makes them.
func (o ToolOptions) id() string {
	var b [16]byte
	// A source of randomness that fails leaves ids that repeat, which is better than
	// no answer.
	_, _ = io.ReadFull(o.Random, b[:])
	return "chatcmpl-tool-" + hex.EncodeToString(b[:])
}

// ToolFormats are the names that NewToolParser takes, which are vLLM's.
var ToolFormats = []string{"hermes", "llama3_json"}

// NewToolParser returns a parser of tool calls in a format. Text that turns out to
// be no call, because its JSON is broken or names no function, is content. A call
// whose arguments have begun stays one, with the arguments as far as they came.
func NewToolParser(format string, o ToolOptions) (Parser, error) {
	switch format {
	case "hermes":
		return &hermes{calls: calls{o: o}}, nil
	case "llama3_json":
		return &llama{calls: calls{o: o}}, nil
	}
	return nil, fmt.Errorf("tool call format %q is unknown, expected one of %s", format, strings.Join(ToolFormats, ", "))
}

// overlap is the size of the longest end of text that marker begins with.
func overlap(text, marker string) int {
	for n := min(len(text), len(marker)-1); n > 0; n-- {
		if strings.HasSuffix(text, marker[:n]) {
			return n
		}
	}
	return 0
}

const space = " \t\r\n"

func blank(s string) bool { return strings.Trim(s, space) == "" }
