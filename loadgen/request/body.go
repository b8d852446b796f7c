package request

import (
	"encoding/json"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// requestBody is the body of a request in either dialect.
type requestBody struct {
	Model         string         `json:"model"`
	Messages      []message      `json:"messages,omitempty"`
	Prompt        string         `json:"prompt,omitempty"`
	MaxTokens     int            `json:"max_tokens"`
	Stream        bool           `json:"stream"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
	IgnoreEOS     bool           `json:"ignore_eos,omitempty"`
	MinTokens     int            `json:"min_tokens,omitempty"`
	User          string         `json:"user,omitempty"`
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type streamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats,omitempty"`
}

// Writer turns turns into request bodies. It may be used from any goroutine.
type Writer struct {
	Model      string // on the wire, where the session names none
	API        client.API
	Exact      bool // ask for exactly the output length, with ignore_eos and min_tokens
	Continuous bool // ask for usage in every event
	Stream     *workload.Stream
}

// Write returns the JSON body of one turn of a session whose turns before it were
// answered by history. withUsage asks the server for its count of tokens at the
// end of the stream.
func (w *Writer) Write(s workload.Session, turn int, history []client.Answer, withUsage bool) []byte {
	prompt := w.Stream.Prompt(s, turn)
	body := requestBody{
		Model:     w.Model,
		MaxTokens: s.Turns[turn].Output,
		Stream:    true,
		User:      s.Tenant,
	}
	if withUsage {
		body.StreamOptions = &streamOptions{IncludeUsage: true, ContinuousUsageStats: w.Continuous}
	}
	if w.Exact {
		body.IgnoreEOS, body.MinTokens = true, s.Turns[turn].Output
	}
	switch {
	case w.API != client.Completions && prompt.System == "":
		body.Messages = []message{{"user", prompt.User}}
	case w.API != client.Completions:
		body.Messages = []message{{"system", prompt.System}, {"user", prompt.User}}
	case prompt.System == "":
		body.Prompt = prompt.User
	default:
		body.Prompt = prompt.System + " " + prompt.User
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings, numbers and booleans always marshal
	}
	return data
}
