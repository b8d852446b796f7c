package request

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// Writer turns turns into request bodies. It may be used from any goroutine;
// its fields must not change while it is.
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

// Exactly reports whether a server is asked for exactly the output length of a
// turn. It is not where a grammar or the recorded body decides when the answer
// ends.
func (w *Writer) Exactly(t *workload.Turn) bool {
	return w.Exact && t.Body == nil && !t.Tools && !t.Schema && w.API != client.Embeddings
}

// Write returns the JSON body of one turn of a session whose turns before it were
// answered by history, without what the server is known to refuse.
func (w *Writer) Write(s workload.Session, turn int, history []client.Answer, without Without) []byte {
	t := &s.Turns[turn]
	if t.Body != nil {
		return w.recorded(s, t, without)
	}
	return w.body(s, t, w.talk(s, turn, history), without)
}

// body writes a conversation in the dialect of the API.
func (w *Writer) body(s workload.Session, t *workload.Turn, talk []saying, without Without) []byte {
	common := w.common(s, t, without)
	var body any
	switch w.API {
	case client.Completions:
		body = completionBody{common, joined(talk), t.Output}
	case client.Responses:
		body = w.responses(common, talk, t)
	case client.Embeddings:
		body = embeddingBody{common, joined(talk)}
	default:
		body = w.chat(common, talk, t)
	}
	data, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Errorf("encoding a request: %w", err)) // all of it is strings, numbers and JSON that was checked
	}
	return w.Extra.appendTo(data)
}

// common are the parameters that the dialects share.
type common struct {
	Model         string         `json:"model"`
	Stream        bool           `json:"stream,omitempty"`
	StreamOptions *streamOptions `json:"stream_options,omitempty"`
	IgnoreEOS     bool           `json:"ignore_eos,omitempty"`
	MinTokens     int            `json:"min_tokens,omitempty"`
	User          string         `json:"user,omitempty"`
	Priority      *int           `json:"priority,omitempty"`
	CacheSalt     string         `json:"cache_salt,omitempty"`
}

type streamOptions struct {
	IncludeUsage         bool `json:"include_usage"`
	ContinuousUsageStats bool `json:"continuous_usage_stats,omitempty"`
}

func (w *Writer) common(s workload.Session, t *workload.Turn, without Without) common {
	c := common{Model: w.model(s), Stream: w.API != client.Embeddings, User: s.Tenant, StreamOptions: w.streamOptions(without)}
	if w.Exactly(t) && !without.Exact {
		c.IgnoreEOS, c.MinTokens = true, t.Output
	}
	if priority, ok := w.Priority[s.Class]; ok {
		c.Priority = &priority
	}
	if w.CacheSalt {
		c.CacheSalt = w.Salt
	}
	return c
}

func (w *Writer) model(s workload.Session) string {
	if s.Model != "" {
		return s.Model
	}
	return w.Model
}

// streamOptions are nil where there are none: the Responses API tells usage in
// any case, and embeddings are not streamed.
func (w *Writer) streamOptions(without Without) *streamOptions {
	if without.Usage || w.API == client.Responses || w.API == client.Embeddings {
		return nil
	}
	return &streamOptions{IncludeUsage: true, ContinuousUsageStats: w.Continuous}
}

// completionBody is the body of POST /v1/completions.
type completionBody struct {
	common
	Prompt    string `json:"prompt"`
	MaxTokens int    `json:"max_tokens"`
}

// embeddingBody is the body of POST /v1/embeddings.
type embeddingBody struct {
	common
	Input string `json:"input"`
}
