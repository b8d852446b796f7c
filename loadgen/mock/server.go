package mock

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server answers the chat and completions APIs. Its fields must not change
// while it serves. The zero Server answers at once with no tokens.
type Server struct {
	TTFT            time.Duration // from the request to the first token
	ITL             time.Duration // between tokens
	Tokens          int           // per answer; 0 takes max_tokens of the request
	TokensPerChunk  int           // tokens that arrive together; 0 is 1
	ContinuousUsage bool          // each chunk tells the tokens so far
	Models          []string      // what /v1/models lists; "mock" when empty
	Metrics         string        // the page at /metrics; none when empty

	// Script, when it returns one, replaces the answer to a request.
	Script func(Request) *Script

	mu       sync.Mutex
	requests []Request
	inFlight int
	peak     int
}

// Request is one request as the server got it.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte

	Model         string
	Messages      []Message
	Prompt        string
	MaxTokens     int  `json:"max_tokens"`
	MinTokens     int  `json:"min_tokens"`
	IgnoreEOS     bool `json:"ignore_eos"`
	Stream        bool
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// Message is one message of a chat.
type Message struct{ Role, Content string }

// Words is the number of words of the prompt, which is its number of tokens by
// this server's count.
func (r *Request) Words() int {
	n := len(strings.Fields(r.Prompt))
	for _, m := range r.Messages {
		n += len(strings.Fields(m.Content))
	}
	return n
}

// Requests are the requests for tokens that came so far, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Peak is the largest number of requests for tokens that were in flight at one
// time.
func (s *Server) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// InFlight is how many requests for tokens are in flight.
func (s *Server) InFlight() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inFlight
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet && r.URL.Path == "/v1/models":
		s.listModels(w)
	case r.Method == http.MethodGet && r.URL.Path == "/metrics" && s.Metrics != "":
		_, _ = io.WriteString(w, s.Metrics) // the client may have left
	case r.Method == http.MethodPost && (r.URL.Path == "/v1/chat/completions" || r.URL.Path == "/v1/completions"):
		s.generate(w, r)
	default:
		http.Error(w, `{"error":{"message":"no such path"}}`, http.StatusNotFound)
	}
}

func (s *Server) listModels(w http.ResponseWriter) {
	models := s.Models
	if len(models) == 0 {
		models = []string{"mock"}
	}
	var quoted []string
	for _, m := range models {
		quoted = append(quoted, fmt.Sprintf(`{"id":%q,"object":"model"}`, m))
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = fmt.Fprintf(w, `{"object":"list","data":[%s]}`, strings.Join(quoted, ",")) // the client may have left
}

func (s *Server) generate(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	request := Request{Path: r.URL.Path, Header: r.Header.Clone()}
	var err error
	if request.Body, err = io.ReadAll(r.Body); err != nil {
		return // the client left
	}
	if err := json.Unmarshal(request.Body, &request); err != nil {
		http.Error(w, `{"error":{"message":"the body is not JSON"}}`, http.StatusBadRequest)
		return
	}
	s.enter(request)
	defer s.leave()
	if s.Script != nil {
		if script := s.Script(request); script != nil {
			script.play(w, r, arrived)
			return
		}
	}
	s.regular(&request).play(w, r, arrived)
}

func (s *Server) enter(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}

// regular is the script of a faultless answer.
func (s *Server) regular(r *Request) *Script {
	tokens := s.Tokens
	if tokens == 0 {
		tokens = r.MaxTokens
	}
	step := max(s.TokensPerChunk, 1)
	script := new(Script)
	at := s.TTFT
	for sent := 0; sent < tokens; {
		n := min(step, tokens-sent)
		sent += n
		usage := ""
		if s.ContinuousUsage {
			usage = "," + usageOf(r.Words(), sent)
		}
		text := strings.Repeat(" word", n)
		script.Pieces = append(script.Pieces, Piece{At: at, Data: Event(fmt.Sprintf(`{"choices":[{"index":0,%s,"finish_reason":null}]%s}`, r.part(text), usage))})
		at += time.Duration(n) * s.ITL
	}
	end := Event(fmt.Sprintf(`{"choices":[{"index":0,%s,"finish_reason":"stop"}]}`, r.part("")))
	if r.StreamOptions.IncludeUsage {
		end += Event(`{"choices":[],` + usageOf(r.Words(), tokens) + `}`)
	}
	script.Pieces = append(script.Pieces, Piece{Data: end + Done})
	return script
}

// part is the JSON member that carries text in the request's dialect.
func (r *Request) part(text string) string {
	if r.Path == "/v1/completions" {
		return fmt.Sprintf(`"text":%q`, text)
	}
	return fmt.Sprintf(`"delta":{"content":%q}`, text)
}

func usageOf(prompt, completion int) string {
	return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}`, prompt, completion, prompt+completion)
}
