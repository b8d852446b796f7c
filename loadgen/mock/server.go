package mock

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Server answers the chat, completions, responses and embeddings APIs. Its fields
// must not change while it serves. The zero Server answers at once with as many
// tokens as were asked for.
type Server struct {
	TTFT           time.Duration // from the request to the first token
	ITL            time.Duration // between tokens
	Jitter         time.Duration // each event comes up to this much earlier or later; order is kept
	Tokens         int           // per answer; 0 takes the max_tokens of the request, or 16
	TokensPerChunk int           // tokens that arrive together; 0 is 1
	// Limits makes Tokens the length at which an answer ends by itself, so that
	// max_tokens, min_tokens and ignore_eos act on it as they do on a model's.
	Limits          bool
	ContinuousUsage bool     // each event tells the tokens so far, even unasked
	ReasoningTokens int      // the first tokens of an answer are thought
	ReasoningNames  []string // their members in a delta; reasoning_content when empty
	ToolCalls       int      // so many tool calls carry a chat's answer instead of text
	PrefillRate     float64  // prompt tokens per second that TTFT grows with; 0 is infinite
	PrefixCache     bool     // known prefixes are reported, and not prefilled again
	MaxConcurrency  int      // requests that run at once, the others wait in order; 0 is no limit
	Seed            uint64   // of jitter and of which requests are at fault
	Faults          []Share

	Models  []string // what /v1/models lists; "mock" when empty. Named ones are the only ones answered
	APIKey  string   // what clients must send as a bearer token; none when empty
	Metrics string   // the page at /metrics; none when empty
	// MetricsStyle makes /metrics a page that moves with the load, in the names
	// of an engine: one of MetricsStyles.
	MetricsStyle string

	// Script, when it returns one, replaces the answer to a request.
	Script func(Request) *Script

	forget bool // keep no requests
	state
}

// defaultTokens is how long an answer is when nobody says: the default of
// max_tokens in the completions API.
const defaultTokens = 16

// MaxTokens is what the server says its window is, in tokens, and the longest
// answer that a request can ask for.
const MaxTokens = 1 << 17

// answer decides what goes back to a request, whatever the way it came in.
func (s *Server) answer(method string, r *Request) *answer {
	if s.APIKey != "" && strings.HasPrefix(r.Path, "/v1/") && r.Header.Get("Authorization") != "Bearer "+s.APIKey {
		return refusal(http.StatusUnauthorized, "invalid_request_error", "the API key is missing or wrong")
	}
	switch method + " " + r.Path {
	case "GET /v1/models":
		return s.models()
	case "GET /health", "GET /ping":
		return now(http.StatusOK, nil)
	case "GET /metrics":
		if s.Metrics != "" || s.MetricsStyle != "" {
			a := now(http.StatusOK, []byte(s.page()))
			a.kind = "text/plain; version=0.0.4; charset=utf-8"
			return a
		}
	case "POST /v1/chat/completions", "POST /v1/completions", "POST /v1/responses", "POST /v1/embeddings", "POST /tokenize":
		return s.post(r)
	}
	return refusal(http.StatusNotFound, "invalid_request_error", "no such path: "+method+" "+r.Path)
}

func (s *Server) post(r *Request) *answer {
	if err := r.parse(); err != nil {
		return refusal(http.StatusBadRequest, "invalid_request_error", err.Error())
	}
	if r.Path == "/tokenize" {
		return tokenized(r)
	}
	s.mu.Lock()
	r.index = s.next
	s.next++
	if !s.forget {
		s.requests = append(s.requests, *r)
	}
	s.mu.Unlock()
	a := s.generation(r)
	a.generates = true
	return a
}

// generation is the answer to a request for tokens or vectors.
func (s *Server) generation(r *Request) *answer {
	if s.Script != nil {
		if script := s.Script(*r); script != nil {
			return script.answer()
		}
	}
	if len(s.Models) > 0 && r.Model != "" && !slices.Contains(s.Models, r.Model) {
		return refusal(http.StatusNotFound, "NotFoundError", fmt.Sprintf("the model %q does not exist", r.Model))
	}
	if f := s.fault(r.index); f != nil {
		return f.make(s, r).answer()
	}
	return s.regular(r)
}

// regular is the faultless answer.
func (s *Server) regular(r *Request) *answer {
	prompt, cached := r.Words(), 0
	if s.PrefixCache {
		blocks := blockHashes(r.texts) // outside of the lock, which others' tokens wait for
		s.mu.Lock()
		cached = s.cache.add(blocks)
		s.mu.Unlock()
	}
	a := &answer{status: http.StatusOK, kind: eventStream, prompt: prompt, cached: cached}
	if r.Path == "/v1/embeddings" {
		a.kind, a.whole, a.body = applicationJSON, true, one{at: s.firstAt(prompt - cached), data: embeddings(r, s.model(r))}
		return a
	}
	st := s.stream(r, prompt, cached)
	if a.body = st; !r.Stream {
		a.kind, a.whole, a.body = applicationJSON, true, st.whole()
	}
	return a
}

// firstAt is when the first token comes, since the answer began.
func (s *Server) firstAt(prefill int) time.Duration {
	first := s.TTFT
	if s.PrefillRate > 0 {
		first += time.Duration(float64(prefill) / s.PrefillRate * float64(time.Second))
	}
	return first
}

func (s *Server) stream(r *Request, prompt, cached int) *stream {
	id, created := strconv.FormatInt(r.index, 16), time.Now().Unix()
	tokens, reason := s.length(r)
	st := &stream{
		tokens: tokens, step: max(s.TokensPerChunk, 1), reasoning: min(s.ReasoningTokens, tokens),
		first: s.firstAt(prompt - cached), itl: s.ITL, jitter: s.jitter(r.index),
		continuous: s.ContinuousUsage || r.StreamOptions.ContinuousUsageStats, usage: r.StreamOptions.IncludeUsage,
		prompt: prompt, cached: cached, reason: reason,
	}
	switch r.Path {
	case "/v1/completions":
		st.reasoning = 0 // the API has no place for it
		st.dialect = completions(id, s.model(r), created)
	case "/v1/responses":
		st.dialect = responses(id, s.model(r), created)
	default:
		if st.names = s.ReasoningNames; len(st.names) == 0 {
			st.names = []string{"reasoning_content"}
		}
		if s.ToolCalls > 0 && tokens > st.reasoning {
			st.calls = min(s.ToolCalls, tokens-st.reasoning)
			if reason == "stop" {
				st.reason = "tool_calls"
			}
		}
		st.dialect = chat(id, s.model(r), created)
	}
	return st
}

// model is the name that an answer carries.
func (s *Server) model(r *Request) string {
	if r.Model != "" {
		return r.Model
	}
	return s.names()[0]
}

func (s *Server) names() []string {
	if len(s.Models) == 0 {
		return []string{"mock"}
	}
	return s.Models
}

// length is how many tokens an answer has, and why it ends there.
func (s *Server) length(r *Request) (tokens int, reason string) {
	limit := min(r.MaxTokens, MaxTokens)
	switch {
	case s.Tokens == 0 && r.limited:
		return limit, "length"
	case s.Tokens == 0:
		return defaultTokens, "length"
	case !s.Limits:
		return s.Tokens, "stop"
	}
	tokens = max(s.Tokens, min(r.MinTokens, MaxTokens))
	if r.limited && (r.IgnoreEOS || tokens >= limit) {
		return limit, "length"
	}
	return tokens, "stop"
}

// jitter draws how much earlier or later each event of a request comes, evenly.
func (s *Server) jitter(index int64) func() time.Duration {
	if s.Jitter <= 0 {
		return nil
	}
	random := rand.New(rand.NewPCG(s.Seed, uint64(index)))
	return func() time.Duration { return time.Duration(random.Int64N(2*int64(s.Jitter)+1)) - s.Jitter }
}

func (s *Server) models() *answer {
	var b []byte
	for i, m := range s.names() {
		if i > 0 {
			b = append(b, ',')
		}
		b = fmt.Appendf(b, `{"id":%s,"object":"model","created":0,"owned_by":"llmctl"}`, quoted(m))
	}
	return now(http.StatusOK, fmt.Appendf(nil, `{"object":"list","data":[%s]}`, b))
}

// tokenized answers POST /tokenize as vLLM does: a token is a word.
func tokenized(r *Request) *answer {
	b := fmt.Appendf(nil, `{"count":%d,"max_model_len":%d,"tokens":[`, r.Words(), MaxTokens)
	for i := range r.Words() {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(i), 10)
	}
	return now(http.StatusOK, append(b, `],"token_strs":null}`...))
}

// defaultDimension is how long embeddings are when the request does not say.
const defaultDimension = 16

func embeddings(r *Request, model string) []byte {
	dimension := r.dimension
	if dimension == 0 {
		dimension = defaultDimension
	}
	b := []byte(`{"object":"list","data":[`)
	for i := range r.inputs {
		text := ""
		if i < len(r.texts) {
			text = r.texts[i]
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, embedding(i, min(dimension, 1<<16), text)...)
	}
	return fmt.Appendf(b, `],"model":%s,"usage":{"prompt_tokens":%d,"total_tokens":%d}}`, quoted(model), r.Words(), r.Words())
}
