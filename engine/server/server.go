package server

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/internal/openai"
)

// Options configure the interface; the zero value is fine for a test.
type Options struct {
	ServedModelName string           // the name on the wire; empty is the model's own
	APIKey          string           // bearer token that /v1 asks for; empty asks for none
	Version         string           // what /version says
	MaxBody         int64            // bytes of a request body; 0 is 16 MiB
	Patience        time.Duration    // for a client to take in one write; 0 is 30 s
	Now             func() time.Time // for the field "created"; nil is time.Now
}

const defaultMaxBody = 16 << 20

type server struct {
	Options
	engine  *engine.Engine
	created int64
}

// New returns the engine's HTTP interface. The engine stays the caller's to
// close, after the last request has been answered.
func New(e *engine.Engine, o Options) http.Handler {
	if o.ServedModelName == "" {
		o.ServedModelName = e.ModelName()
	}
	if o.MaxBody == 0 {
		o.MaxBody = defaultMaxBody
	}
	if o.Patience == 0 {
		o.Patience = defaultPatience
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &server{Options: o, engine: e, created: o.Now().Unix()}
	mux := http.NewServeMux()
	for _, r := range []struct {
		method, path string
		handler      http.HandlerFunc
	}{
		{http.MethodPost, "/v1/chat/completions", s.chat},
		{http.MethodPost, "/v1/completions", s.complete},
		{http.MethodGet, "/v1/models", s.models},
		{http.MethodGet, "/v1/models/{id...}", s.model},
		{http.MethodPost, "/tokenize", s.tokenize},
		{http.MethodGet, "/health", s.health},
		{http.MethodGet, "/version", s.version},
		{http.MethodGet, "/metrics", metricsHandler(e, o.ServedModelName).ServeHTTP},
	} {
		mux.Handle(r.path, s.only(r.method, r.handler))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "no such path: "+r.URL.Path, "", "")
	})
	return s.bounded(s.identified(s.authorized(mux)))
}

// only answers other methods with 405 in OpenAI's shape. HEAD goes with GET.
func (s *server) only(method string, next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != method && (method != http.MethodGet || r.Method != http.MethodHead) {
			w.Header().Set("Allow", method)
			refuse(w, http.StatusMethodNotAllowed, r.Method+" is not allowed here, use "+method, "", "")
			return
		}
		next(w, r)
	})
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
	reply(w, openai.ModelList{Object: "list", Data: []openai.Model{s.card()}})
}

func (s *server) model(w http.ResponseWriter, r *http.Request) {
	if id := r.PathValue("id"); id != s.ServedModelName {
		modelNotFound(w, id)
		return
	}
	reply(w, s.card())
}

func (s *server) card() openai.Model {
	return openai.Model{
		ID: s.ServedModelName, Object: "model", Created: s.created, OwnedBy: "llmctl",
		Root: s.engine.ModelName(), MaxModelLen: s.engine.Window(),
	}
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
	body, err := io.ReadAll(r.Body) // bounded limits it
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, "request body is larger than the limit", "", "request_too_large")
		return false
	case err != nil:
		refuse(w, http.StatusBadRequest, "reading the request body: "+err.Error(), "", "")
		return false
	}
	if err := json.Unmarshal(body, v); err != nil {
		message, param := badJSON(err)
		refuse(w, http.StatusBadRequest, message, param, "")
		return false
	}
	return true
}

// badJSON says in the API's words what is wrong with a body.
func badJSON(err error) (message, param string) {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		if wrong.Field == "" {
			return "request body must be a JSON object, got " + wrong.Value, ""
		}
		field := strings.TrimPrefix(wrong.Field, "Generation.") // the embedded struct is ours, not the client's
		return field + " must be a " + kindName(wrong.Type.Kind()) + ", got " + wrong.Value, field
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return "request body is not valid JSON: " + err.Error(), ""
	}
	return err.Error(), ""
}

func reply(w http.ResponseWriter, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own types always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client may have left; there is nobody to tell
}

// refuse answers with an error in OpenAI's shape whose type follows the status.
func refuse(w http.ResponseWriter, status int, message, param, code string) {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status >= 500:
		kind = "server_error"
	}
	openai.WriteError(w, status, openai.NewError(kind, message, param, code))
}

func modelNotFound(w http.ResponseWriter, name string) {
	refuse(w, http.StatusNotFound, "The model `"+name+"` does not exist.", "model", "model_not_found")
}
