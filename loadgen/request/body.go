package request

import (
	"encoding/json"
	"sync"

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
	Prompts

	mu     sync.Mutex
	groups map[int]prefix
}

// Without names what a server refuses, so that a body is written without it.
type Without struct {
	Usage bool // stream_options
	Exact bool // ignore_eos and min_tokens
}

// Write returns the JSON body of one turn of a session whose turns before it were
// answered by history, without what the server is known to refuse.
func (w *Writer) Write(s workload.Session, turn int, history []client.Answer, without Without) []byte {
	system, user := w.first(s.Index, &s.Turns[turn])
	body := requestBody{
		Model:     w.Model,
		MaxTokens: s.Turns[turn].Output,
		Stream:    true,
		User:      s.Tenant,
	}
	if !without.Usage {
		body.StreamOptions = &streamOptions{IncludeUsage: true, ContinuousUsageStats: w.Continuous}
	}
	if w.Exact && !without.Exact {
		body.IgnoreEOS, body.MinTokens = true, s.Turns[turn].Output
	}
	switch {
	case w.API != client.Completions && system == "":
		body.Messages = []message{{"user", user}}
	case w.API != client.Completions:
		body.Messages = []message{{"system", system}, {"user", user}}
	case system == "":
		body.Prompt = user
	default:
		body.Prompt = system + " " + user
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(err) // strings, numbers and booleans always marshal
	}
	return data
}
