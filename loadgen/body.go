package loadgen

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

// bodyWriter turns turns into request bodies.
type bodyWriter struct {
	model      string
	api        client.API
	ignoreEOS  bool
	continuous bool // ask for usage in every chunk
	stream     *workload.Stream
}

// write returns the JSON body of one turn. withUsage asks the server for its
// count of tokens at the end of the stream.
func (w *bodyWriter) write(s workload.Session, turn int, withUsage bool) []byte {
	prompt := w.stream.Prompt(s, turn)
	body := requestBody{
		Model:     w.model,
		MaxTokens: s.Turns[turn].Output,
		Stream:    true,
		User:      s.Tenant,
	}
	if withUsage {
		body.StreamOptions = &streamOptions{IncludeUsage: true, ContinuousUsageStats: w.continuous}
	}
	if w.ignoreEOS {
		body.IgnoreEOS, body.MinTokens = true, s.Turns[turn].Output
	}
	switch {
	case w.api == client.Chat && prompt.System == "":
		body.Messages = []message{{"user", prompt.User}}
	case w.api == client.Chat:
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
