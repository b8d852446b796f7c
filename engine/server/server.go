package server

import (
	"cmp"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// Options configure the interface; the zero value serves the built-in model.
type Options struct {
	ServedModelNames []string // names on the wire, of which answers have the first; nil is the model's own
	APIKey           string   // bearer token that /v1 asks for; empty asks for none
	Version          string   // what /version says

	Tokenizer    tokenizer.Tokenizer // the model's; nil is the built-in one
	Template     *chat.Template      // of chats; nil is the built-in model's where Tokenizer is nil, else chats are refused
	ToolTemplate *chat.Template      // of chats with tools, where the model has one of its own
	BOS, EOS     string              // the model's tokens that begin and end a sequence, by their text
	Forgeable    bool                // special tokens in the text of clients count, as in vLLM
	Sampling     Sampling            // of requests that bring none

	ToolParser      string // format of tool calls; empty refuses tools, unless their call is forced
	ReasoningParser string // format of reasoning; empty tells none apart
	Priorities      bool   // requests may have a priority
	Unguided        string // why the model's words cannot be held to a form; empty where they can

	MaxBody   int64            // bytes of a request body; 0 is 16 MiB
	Patience  time.Duration    // for a client to take in one write; 0 is 30 s
	KeepAlive time.Duration    // after which a quiet stream gets a comment; 0 is 15 s
	Now       func() time.Time // for the field "created"; nil is time.Now

	Tracer trace.TracerProvider // of a span for each request; nil makes none
}

const (
	defaultMaxBody   = 16 << 20
	defaultKeepAlive = 15 * time.Second
)

type server struct {
	Options
	engine  *engine.Engine
	created int64
	encoder *chat.Encoder
	guides  *guides
	tracer  trace.Tracer // nil without a provider
	longest int          // bytes of the longest token
}

// New returns the engine's HTTP interface. The engine stays the caller's to
// close, after the last request has been answered.
func New(e *engine.Engine, o Options) http.Handler {
	s := newServer(e, o)
	mux := http.NewServeMux()
	allowed := map[string][]string{}
	for _, r := range []struct {
		method, path string
		handler      http.HandlerFunc
	}{
		{http.MethodPost, "/v1/chat/completions", s.chat},
		{http.MethodPost, "/v1/completions", s.complete},
		{http.MethodGet, "/v1/models", s.models},
		{http.MethodGet, "/v1/models/{id...}", s.model},
		{http.MethodPost, "/tokenize", s.tokenize},
		{http.MethodPost, "/detokenize", s.detokenize},
		{http.MethodGet, "/health", s.health},
		{http.MethodGet, "/ping", s.health},
		{http.MethodPost, "/ping", s.health},
		{http.MethodGet, "/load", s.load},
		{http.MethodGet, "/version", s.version},
		{http.MethodGet, "/metrics", metricsHandler(e, s.name()).ServeHTTP},
	} {
		mux.Handle(r.method+" "+r.path, r.handler) // GET takes HEAD as well
		allowed[r.path] = append(allowed[r.path], r.method)
	}
	for path, methods := range allowed {
		mux.Handle(path, otherMethod(methods))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "no such path: "+r.URL.Path, "", "")
	})
	return s.bounded(s.identified(s.authorized(mux)))
}

func newServer(e *engine.Engine, o Options) *server {
	if len(o.ServedModelNames) == 0 {
		o.ServedModelNames = []string{e.ModelName()}
	}
	if o.Tokenizer == nil {
		o.Tokenizer = tokenizer.Builtin()
		if o.Template == nil {
			o.Template, o.BOS = builtinTemplate(), o.Tokenizer.Name(tokenizer.BOS)
		}
	}
	o.MaxBody = cmp.Or(o.MaxBody, defaultMaxBody)
	o.Patience = cmp.Or(o.Patience, defaultPatience)
	o.KeepAlive = cmp.Or(o.KeepAlive, defaultKeepAlive)
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{
		Options: o, engine: e, created: o.Now().Unix(),
		encoder: chat.NewEncoder(o.Tokenizer), longest: longestToken(o.Tokenizer),
	}
	s.encoder.Forgeable = o.Forgeable
	s.guides = newGuides(s)
	if o.Tracer != nil {
		s.tracer = o.Tracer.Tracer(tracerName)
	}
	return s
}

// name is the model's on the wire.
func (s *server) name() string { return s.ServedModelNames[0] }

// otherMethod answers for a path that takes other methods, in OpenAI's shape.
func otherMethod(allowed []string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		refuse(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here, use "+strings.Join(allowed, " or "), "", "")
	}
}

// authorized guards /v1 with the API key, as vLLM does; health and metrics stay
// open to probes. Of two Authorization headers neither counts: which one does
// differs from server to server, so a hop before this one may have checked the
// other.
func (s *server) authorized(next http.Handler) http.Handler {
	if s.APIKey == "" {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		valid := len(r.Header.Values("Authorization")) == 1 && strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare([]byte(key), []byte(s.APIKey)) == 1
		if !valid && strings.HasPrefix(r.URL.Path, "/v1/") {
			w.Header().Set("WWW-Authenticate", "Bearer")
			refuse(w, http.StatusUnauthorized, "Incorrect API key provided.", "", "invalid_api_key")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// identified gives every answer an x-request-id, the client's, if it is sane, or
// a new one, and says that it is what its content type says.
func (s *server) identified(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := r.Header.Get("X-Request-Id")
		if !saneID(id) {
			id = newID()
		}
		w.Header().Set("X-Request-Id", id)
		w.Header().Set("X-Content-Type-Options", "nosniff") // a model's text may look like HTML
		next.ServeHTTP(w, r)
	})
}

func saneID(id string) bool {
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '"' {
			return false
		}
	}
	return id != "" && len(id) <= 128
}

func newID() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails, says its documentation
	return hex.EncodeToString(b[:])
}

func (s *server) models(w http.ResponseWriter, _ *http.Request) {
	list := openai.ModelList{Object: "list"}
	for _, name := range s.ServedModelNames {
		list.Data = append(list.Data, s.card(name))
	}
	reply(w, list)
}

func (s *server) model(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	if p := s.named(id); p != nil || id == "" {
		modelNotFound(id).write(w)
		return
	}
	reply(w, s.card(id))
}

func (s *server) card(name string) openai.Model {
	return openai.Model{
		ID: name, Object: "model", Created: s.created, OwnedBy: "llmctl",
		Root: s.engine.ModelName(), MaxModelLen: s.engine.Window(),
	}
}

// load is vLLM's count of requests that are being served.
func (s *server) load(w http.ResponseWriter, _ *http.Request) {
	stats := s.engine.Stats()
	reply(w, struct {
		Load int `json:"server_load"`
	}{stats.Running + stats.Waiting})
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	if s.engine.Closed() {
		refuse(w, http.StatusServiceUnavailable, engine.ErrClosed.Error(), "", "overloaded")
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *server) version(w http.ResponseWriter, _ *http.Request) {
	reply(w, struct {
		Version string `json:"version"`
	}{s.Version})
}

// decode reads a JSON body into v. When it returns false it has answered.
func (s *server) decode(w http.ResponseWriter, r *http.Request, v any) bool {
	if r.ContentLength > s.MaxBody { // said at once, and not read
		w.Header().Set("Connection", "close")
		s.tooLarge(w)
		return false
	}
	body, err := io.ReadAll(r.Body) // bounded limits it
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		s.tooLarge(w)
		return false
	}
	if err != nil {
		refuse(w, http.StatusBadRequest, "reading the request body: "+err.Error(), "", "")
		return false
	}
	if err := openai.Unmarshal(body, v); err != nil {
		badJSON(err, reflect.TypeOf(v)).write(w)
		return false
	}
	return true
}

func (s *server) tooLarge(w http.ResponseWriter) {
	refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("request body is larger than the limit of %d bytes", s.MaxBody), "", "request_too_large")
}

func reply(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may have left; there is nobody to tell
}
