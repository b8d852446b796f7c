package gateway

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	searchKey   = "sk-search-0123456789abcdef"
	chatKey     = "sk-chatting-0123456789abcdef"
	providerKey = "sk-provider-fedcba9876543210"
	adminToken  = "admin-0123456789abcdef"
	patience    = 10 * time.Second // no test waits this long unless it fails
)

// logBuffer collects log lines from concurrent requests.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// stand is a gateway in front of one scripted upstream.
type stand struct {
	t       testing.TB
	gateway *Gateway
	url     string
	admin   string
	client  *http.Client
	logs    *logBuffer
}

// testConfig has two tenants, one provider at endpoint and the alias "small".
func testConfig(endpoint string) *config.Config {
	return &config.Config{
		Listen: "127.0.0.1:0",
		Admin:  config.Admin{Listen: "127.0.0.1:0", TokenEnv: "ADMIN_TOKEN"},
		Tenants: []config.Tenant{
			{Name: "search", Keys: []config.Key{{Hash: config.HashKey(searchKey)}}},
			{Name: "chat", Keys: []config.Key{{KeyEnv: "CHAT_KEY"}}, Models: []string{"small"}},
		},
		Providers: []config.Provider{{Name: "cluster", Kind: "openai", Endpoints: []string{endpoint}, KeyEnv: "PROVIDER_KEY"}},
		Models: []config.Model{
			{Alias: "small", Targets: []config.Target{{Provider: "cluster", Model: "real-model"}}, Retry: config.Retry{Attempts: 1}},
			{Alias: "large", Targets: []config.Target{{Provider: "cluster", Model: "large-model"}}, Retry: config.Retry{Attempts: 1}},
		},
	}
}

func testEnv(name string) (string, bool) {
	v, ok := map[string]string{"CHAT_KEY": chatKey, "PROVIDER_KEY": providerKey, "ADMIN_TOKEN": adminToken}[name]
	return v, ok
}

// serve starts an upstream with the handler and a gateway in front of it; edit
// may change the configuration.
func serve(t testing.TB, upstream http.HandlerFunc, edit ...func(*config.Config, *Options)) *stand {
	t.Helper()
	up := httptest.NewServer(upstream)
	t.Cleanup(up.Close)
	return front(t, up.URL, edit...)
}

// front starts a gateway in front of an endpoint.
func front(t testing.TB, endpoint string, edit ...func(*config.Config, *Options)) *stand {
	t.Helper()
	s := &stand{t: t, logs: &logBuffer{}}
	c := testConfig(endpoint)
	o := Options{LookupEnv: testEnv, Logger: slog.New(slog.NewJSONHandler(s.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))}
	for _, e := range edit {
		e(c, &o)
	}
	var err error
	if s.gateway, err = New(c, o); err != nil {
		t.Fatal(err)
	}
	api, admin := httptest.NewServer(s.gateway.Handler()), httptest.NewServer(s.gateway.AdminHandler())
	s.url, s.admin = api.URL, admin.URL
	s.client = &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 100}}
	t.Cleanup(func() {
		s.client.CloseIdleConnections()
		s.gateway.Close()
		api.Close()
		admin.Close()
	})
	return s
}

func configure(edit func(*config.Config)) func(*config.Config, *Options) {
	return func(c *config.Config, _ *Options) { edit(c) }
}

// request builds a completion request with the search tenant's key.
func (s *stand) request(ctx context.Context, body string) *http.Request {
	s.t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+searchKey)
	r.Header.Set("Content-Type", "application/json")
	return r
}

// answer is a response read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

func (s *stand) do(r *http.Request) answer {
	s.t.Helper()
	response, err := s.client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("reading the answer: %v", err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

func (s *stand) post(body string) answer {
	s.t.Helper()
	return s.do(s.request(s.t.Context(), body))
}

// metrics returns the admin listener's metrics.
func (s *stand) metrics() string {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodGet, s.admin+"/metrics", nil)
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+adminToken)
	return s.do(r).body
}

// settled waits until every request has gone through its deferred clean-up, by
// closing the gateway, and checks that nothing is held, and that the ledger of usage
// says what the limits were settled to.
func (s *stand) settled() {
	s.t.Helper()
	s.gateway.Close()
	ledger := s.gateway.limits.Ledger()
	if ledger.Reserved-ledger.Refunded+ledger.Debt != ledger.Settled {
		s.t.Errorf("the ledger does not balance: %+v", ledger)
	}
	// Embeddings of the caches are on the bill, and take nothing of limits' tokens.
	if used := s.sums().Input + s.sums().Output - s.sumsOf(usage.Embedding).Input; used != ledger.Settled {
		s.t.Errorf("usage has %d tokens, and limits were settled to %d", used, ledger.Settled)
	}
	metrics := s.metrics()
	for line := range strings.Lines(metrics) {
		if strings.Contains(line, "in_flight{") && !strings.HasSuffix(line, " 0\n") {
			s.t.Errorf("still in flight: %s", line)
		}
	}
}

// sse writes events and flushes after each.
func sse(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		_, _ = io.WriteString(w, e) // the gateway may have cut the connection
		_ = http.NewResponseController(w).Flush()
	}
}

// Events of a well-behaved engine.
const (
	roleEvent   = `data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}` + "\n\n"
	helloEvent  = `data: {"id":"1","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"usage":null}` + "\n\n"
	worldEvent  = `data: {"id":"1","choices":[{"index":0,"delta":{"content":" world"},"finish_reason":null}],"usage":null}` + "\n\n"
	finishEvent = `data: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}` + "\n\n"
	usageEvent  = `data: {"id":"1","choices":[],"usage":{"prompt_tokens":11,"completion_tokens":2,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":8}}}` + "\n\n"
	doneEvent   = "data: [DONE]\n\n"

	streamBody = `{"model":"small","messages":[{"role":"user","content":"hi"}],"stream":true}`
	plainBody  = `{"model":"small","messages":[{"role":"user","content":"hi"}]}`
	plainReply = `{"id":"1","choices":[{"index":0,"message":{"role":"assistant","content":"Hello world"},"finish_reason":"stop"}],"usage":{"prompt_tokens":11,"completion_tokens":2,"total_tokens":13}}`
)

// wait receives from a channel, or fails the test.
func wait[T any](t testing.TB, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}
