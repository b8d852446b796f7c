package gateway

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
)

func asking(question string) string {
	return fmt.Sprintf(`{"model":"small","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":%q}]}`, question)
}

// embedding is an upstream for which all texts mean the same, but for those with
// "unrelated" in them: whatever keeps two questions apart is not the embedding.
func embedding(calls *atomic.Int64, next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/embeddings" {
			next(w, r)
			return
		}
		calls.Add(1)
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(gjson.GetBytes(body, "input").Str, "unrelated") {
			_, _ = io.WriteString(w, `{"data":[{"embedding":[0,1]}]}`)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"embedding":[2,0]}]}`)
	}
}

func cachingByMeaning(c *config.Config, _ *Options) {
	c.Models[0].Cache.Semantic = &config.Semantic{Enabled: true, Provider: "cluster", Model: "embed"}
}

func TestASimilarQuestionIsAnsweredAgain(t *testing.T) {
	var calls, embeddings atomic.Int64
	s := serve(t, embedding(&embeddings, answeringCounted(&calls)), cachingByMeaning)
	s.post(asking("cancel my order"))
	got := s.post(streaming(asking("please cancel my order!")))
	if got.header.Get("X-Llmctl-Cache") != "semantic" || got.header.Get("X-Llmctl-Cache-Similarity") != "1.0000" || said(got.body) != "Hello world" {
		t.Errorf("headers %v: %s", got.header, got.body)
	}
	for _, body := range []string{
		asking("don't cancel my order"),
		asking("cancel my order of 5 items"),
		asking(`cancel my order "foo"`),
		asking("an unrelated request"),
		strings.Replace(asking("cancel my order"), "brief", "long", 1),
		strings.Replace(asking("cancel my order"), `"model"`, `"max_tokens":5,"model"`, 1),
	} {
		before := calls.Load()
		if got := s.post(body); got.header.Get("X-Llmctl-Cache") != "miss" || calls.Load() != before+1 {
			t.Errorf("%s: %q", body, got.header.Get("X-Llmctl-Cache"))
		}
	}
	if got := s.post(asking("please do not cancel my order")); got.header.Get("X-Llmctl-Cache") != "semantic" {
		t.Errorf("the negated question again: %q", got.header.Get("X-Llmctl-Cache"))
	}
	s.settled()
	if want := 13 * calls.Load(); s.gateway.limits.Ledger().Settled != want {
		t.Errorf("%d tokens charged, want %d", s.gateway.limits.Ledger().Settled, want)
	}
}

func TestATenantNeverGetsTheAnswerToAnothersSimilarQuestion(t *testing.T) {
	var calls, embeddings atomic.Int64
	s := serve(t, embedding(&embeddings, answeringCounted(&calls)), cachingByMeaning)
	s.post(asking("cancel my order"))
	for i, want := range []string{"miss", "semantic"} {
		if got := s.as(chatKey, asking("please cancel my order")); got.header.Get("X-Llmctl-Cache") != want || calls.Load() != 2 {
			t.Errorf("request %d of another tenant: %q after %d calls", i+1, got.header.Get("X-Llmctl-Cache"), calls.Load())
		}
	}
}

func TestWhatIsNeverComparedByMeaning(t *testing.T) {
	for name, test := range map[string]struct {
		body   string
		header []string
		reason string
	}{
		"tools":               {`{"tools":[{"type":"function","function":{"name":"f"}}],` + asking("cancel my order")[1:], nil, "tools"},
		"a result of a tool":  {`{"model":"small","messages":[{"role":"user","content":"a"},{"role":"tool","tool_call_id":"1","content":"b"}]}`, nil, "tools"},
		"a second turn":       {`{"model":"small","messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, nil, "turns"},
		"an image":            {`{"model":"small","messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]}`, nil, "content"},
		"data of a user":      {asking("cancel my order"), []string{"X-Llmctl-User-Data", "true"}, "user_data"},
		"what is not kept":    {asking("cancel my order"), []string{"Cache-Control", "no-store"}, "no_store"},
		"what is asked today": {asking("what is the weather"), nil, "time"},
	} {
		t.Run(name, func(t *testing.T) {
			var calls, embeddings atomic.Int64
			s := serve(t, embedding(&embeddings, answeringCounted(&calls)), cachingByMeaning)
			for range 2 {
				if got := s.as(searchKey, test.body, test.header...); got.status != 200 || got.header.Get("X-Llmctl-Cache") != "bypass" {
					t.Errorf("status %d, %q", got.status, got.header.Get("X-Llmctl-Cache"))
				}
			}
			if calls.Load() != 2 || embeddings.Load() != 0 {
				t.Errorf("%d calls, and %d embeddings of what is nobody's business", calls.Load(), embeddings.Load())
			}
			if want := `cache="semantic",reason="` + test.reason + `",result="bypass"} 2`; !strings.Contains(s.metrics(), want) {
				t.Errorf("no %s", want)
			}
		})
	}
}

// Trouble with embeddings is nothing that a client hears of.
func TestWithoutAnEmbeddingTheModelIsAsked(t *testing.T) {
	for name, broken := range map[string]http.HandlerFunc{
		"an error":      replies(500, "private"),
		"nonsense":      replies(200, `{"data":1}`),
		"a broken line": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"a long wait":   func(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body); <-r.Context().Done() },
	} {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/v1/embeddings" {
					broken(w, r)
					return
				}
				answeringCounted(&calls)(w, r)
			}, cachingByMeaning, configure(func(c *config.Config) { c.Models[0].Cache.Semantic.Timeout = config.Duration(50 * time.Millisecond) }))
			for range 2 {
				if got := s.post(asking("cancel my order")); got.status != 200 || got.header.Get("X-Llmctl-Cache") != "bypass" {
					t.Errorf("status %d, %q", got.status, got.header.Get("X-Llmctl-Cache"))
				}
			}
			s.settled()
			if calls.Load() != 2 || !strings.Contains(s.logs.String(), `"cache_error"`) || strings.Contains(s.logs.String(), "private") {
				t.Errorf("%d calls, log %s", calls.Load(), s.logs)
			}
		})
	}
}

func TestEmbeddingsThatCanNotBeAskedForAreRefused(t *testing.T) {
	for name, edit := range map[string]func(*config.Config){
		"no provider":         func(c *config.Config) { c.Models[0].Cache.Semantic.Provider = "" },
		"an unknown provider": func(c *config.Config) { c.Models[0].Cache.Semantic.Provider = "nobody" },
	} {
		c := testConfig("http://127.0.0.1:1")
		cachingByMeaning(c, nil)
		edit(c)
		if _, err := New(c, Options{LookupEnv: testEnv}); err == nil || !strings.Contains(err.Error(), "provider") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestBothCachesTogether(t *testing.T) {
	var calls, embeddings atomic.Int64
	s := serve(t, embedding(&embeddings, answeringCounted(&calls)), cachingExactly, cachingByMeaning)
	cold := func(question string) string { return strings.Replace(asking(question), `{`, `{"temperature":0,`, 1) }
	for _, step := range []struct{ body, want string }{
		{cold("cancel my order"), "miss"}, {cold("cancel my order"), "hit"}, {cold("please cancel my order"), "semantic"}, {asking("cancel my order"), "miss"},
	} {
		if got := s.post(step.body); got.header.Get("X-Llmctl-Cache") != step.want {
			t.Errorf("%s: %q, want %q", step.body, got.header.Get("X-Llmctl-Cache"), step.want)
		}
	}
	if calls.Load() != 2 || embeddings.Load() != 3 {
		t.Errorf("%d calls, %d embeddings", calls.Load(), embeddings.Load())
	}
}
