package conform_test

import (
	"bytes"
	"crypto/sha256"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/llmctl/llmctl/loadgen/conform"
)

const (
	secondKey  = "sk-conform-second-key"
	limitedKey = "sk-conform-limited-key"
)

// tenants is a gateway in little: keys, a limit, idempotency, and a cache of
// prompts by tenant. Its flaws are what a test switches on.
type tenants struct {
	engine http.Handler
	flaws  map[string]bool

	mu    sync.Mutex
	left  int
	known map[string]*record
	seen  map[string]bool
	cache map[string][]byte // with the flaw "answers are shared"
}

// record is a request with an Idempotency-Key.
type record struct {
	body   [32]byte
	done   chan struct{}
	answer *httptest.ResponseRecorder
}

func newTenants(flaws ...string) *tenants {
	m := faultless()
	m.APIKey, m.ITL = "", time.Millisecond
	g := &tenants{engine: m, left: 5, known: map[string]*record{}, seen: map[string]bool{}, cache: map[string][]byte{}, flaws: map[string]bool{}}
	for _, f := range flaws {
		g.flaws[f] = true
	}
	return g
}

func (g *tenants) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if g.models(w, r, key, body) {
		return
	}
	if g.flaws["bodies of 8 MiB at most"] && len(body) > 8<<20 {
		refuse(w, http.StatusRequestEntityTooLarge)
		return
	}
	if g.flaws["other paths are free"] && r.URL.Path != "/v1/chat/completions" {
		g.engine.ServeHTTP(w, r)
		return
	}
	limited := key == limitedKey || g.flaws["the limit is everybody's"] && g.left <= 0
	if limited && r.Method == http.MethodPost && g.stopped(w) {
		return
	}
	if id := r.Header.Get("Idempotency-Key"); id != "" && !g.flaws["keys are ignored"] {
		if !g.flaws["keys are everybody's"] {
			id = key + " " + id
		}
		g.once(w, r, id, body)
		return
	}
	if gjson.GetBytes(body, "stream").Bool() || r.Method == http.MethodGet {
		g.engine.ServeHTTP(w, r)
		return
	}
	answer := g.answer(r, key, body)
	send(w, answer)
}

// models answers for models of one tenant: those of the second are m, as
// everybody's, and theirs.
func (g *tenants) models(w http.ResponseWriter, r *http.Request, key string, body []byte) bool {
	name, card := strings.CutPrefix(r.URL.Path, "/v1/models/")
	if !card {
		name = gjson.GetBytes(body, "model").Str
	}
	switch {
	case r.URL.Path == "/v1/models" && key == secondKey:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"m","object":"model"},{"id":"theirs","object":"model"}]}`)
	case name == "theirs" && g.flaws["another's model is forbidden"]:
		refuse(w, http.StatusForbidden)
	case name == "theirs" && g.flaws["another's model is told from none"]:
		refuse(w, http.StatusNotFound)
	case name != "" && name != "m":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error":{"message":"there is no model `+name+`","type":"invalid_request_error","param":"model","code":"model_not_found"}}`)
	default:
		return false
	}
	return true
}

// stopped counts against the limit, and refuses when it is reached.
func (g *tenants) stopped(w http.ResponseWriter) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left--
	h := w.Header()
	if !g.flaws["limits are not told"] {
		h.Set("x-ratelimit-limit-requests", "5")
		h.Set("x-ratelimit-remaining-requests", string(rune('0'+max(0, g.left))))
		h.Set("x-ratelimit-reset-requests", "12s")
	}
	if g.left >= 0 || g.flaws["nothing stops"] {
		return false
	}
	h.Set("Content-Type", "application/json")
	switch {
	case g.flaws["Retry-After is 0"]:
		h.Set("Retry-After", "0")
	case !g.flaws["no Retry-After"]:
		h.Set("Retry-After", "12")
	}
	code := "rate_limit_exceeded"
	if g.flaws["a code of its own"] {
		code = "429"
	}
	if g.flaws["503 for a limit"] {
		w.WriteHeader(http.StatusServiceUnavailable)
	} else {
		w.WriteHeader(http.StatusTooManyRequests)
	}
	_, _ = io.WriteString(w, `{"error":{"message":"slow down","type":"requests","param":null,"code":"`+code+`"}}`)
	return true
}

// once answers a request with an Idempotency-Key.
func (g *tenants) once(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	g.mu.Lock()
	first, known := g.known[id]
	if !known {
		first = &record{body: sha256.Sum256(body), done: make(chan struct{})}
		g.known[id] = first
	}
	g.mu.Unlock()
	running := false
	select {
	case <-first.done:
	default:
		running = true
	}
	switch {
	case !known:
		first.answer = g.answer(r, "", body)
		close(first.done)
		send(w, first.answer)
	case first.body != sha256.Sum256(body) && !g.flaws["conflicts are replayed"]:
		refuse(w, http.StatusUnprocessableEntity)
	case running && g.flaws["both of two run"]:
		send(w, g.answer(r, "", body))
	case running:
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusConflict)
	default:
		send(w, first.answer)
	}
}

// answer asks the engine, and tells how much of the prompt was cached.
func (g *tenants) answer(r *http.Request, key string, body []byte) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	r.Body = io.NopCloser(bytes.NewReader(body))
	g.engine.ServeHTTP(recorder, r)
	g.mu.Lock()
	defer g.mu.Unlock()
	prompt := gjson.GetBytes(body, "messages").Raw
	owner := key + gjson.GetBytes(body, "cache_salt").Str
	if g.flaws["prompts are shared"] {
		owner = ""
	}
	cached := 0
	if g.seen[owner+prompt] {
		cached = 16
	}
	g.seen[owner+prompt] = true
	changed, err := sjson.SetBytes(recorder.Body.Bytes(), "usage.prompt_tokens_details.cached_tokens", cached)
	if err == nil && recorder.Code == http.StatusOK {
		recorder.Body = bytes.NewBuffer(changed)
	}
	if g.flaws["answers are shared"] {
		if g.cache[prompt] == nil {
			g.cache[prompt] = recorder.Body.Bytes()
		}
		recorder.Body = bytes.NewBuffer(g.cache[prompt])
	}
	return recorder
}

func send(w http.ResponseWriter, a *httptest.ResponseRecorder) {
	w.Header().Set("Content-Type", a.Header().Get("Content-Type"))
	w.WriteHeader(a.Code)
	_, _ = w.Write(a.Body.Bytes())
}

func refuse(w http.ResponseWriter, status int) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, badRequestBody)
}

// gatewayFlaws are what tenants can do wrong, and the cases that say so.
var gatewayFlaws = []struct {
	flaw string
	want []string
}{
	{"", []string{}},
	{"limits are not told", []string{"limits/headers", "limits/429-headers"}},
	{"nothing stops", []string{"limits/429", "limits/code", "limits/retry-after", "limits/429-headers", "limits/apart"}},
	{"503 for a limit", []string{"limits/429"}},
	{"a code of its own", []string{"limits/code"}},
	{"no Retry-After", []string{"limits/retry-after"}},
	{"Retry-After is 0", []string{"limits/retry-after"}},
	{"the limit is everybody's", []string{"limits/apart"}},
	{"other paths are free", []string{"limits/other-paths"}},
	{"bodies of 8 MiB at most", []string{"errors/pictures"}},
	{"another's model is forbidden", []string{"models/other-tenants", "models/others-by-chat"}},
	{"another's model is told from none", []string{"models/other-tenants", "models/others-by-chat"}},
	{"keys are ignored", []string{"idempotency/replay"}},
	{"keys are everybody's", []string{"idempotency/tenants"}},
	{"conflicts are replayed", []string{"idempotency/conflict"}},
	{"both of two run", []string{"idempotency/in-progress"}},
	{"prompts are shared", []string{"caching/prefix-tenants", "caching/prefix-salt"}},
	{"answers are shared", []string{"caching/prefix", "caching/answers-tenants", "caching/whole-key", "idempotency/tenants"}},
}

// A gateway with one flaw fails the cases about it, one without passes all.
func TestGatewaysFlaws(t *testing.T) {
	for _, tt := range gatewayFlaws {
		t.Run(tt.flaw, func(t *testing.T) {
			t.Parallel()
			r := check(t, newTenants(tt.flaw), conform.Options{
				Suite: conform.Gateway, Pick: []string{"limits", "idempotency", "caching", "models/other*", "errors/pictures"},
				SecondKey: secondKey, LimitedKey: limitedKey, MaxBody: 32 << 20, CaseTimeout: time.Minute,
			})
			got := failures(r)
			if tt.flaw == "the limit is everybody's" {
				got = got[:min(1, len(got))] // what comes after it is stopped, too
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("failed cases (-want +got):\n%s", diff)
				for _, c := range r.Results {
					t.Logf("%s %s %s%s", c.ID, c.Verdict, c.Seen, c.Reason)
				}
			}
		})
	}
}
