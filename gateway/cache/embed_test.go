package cache

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func embedder(t *testing.T, handler http.HandlerFunc) *Embedder {
	server := httptest.NewServer(handler)
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(func() { client.CloseIdleConnections(); server.Close() })
	return &Embedder{Client: client, Base: server.URL, Key: "sk-secret", Model: "embed"}
}

func TestAnEmbeddingIsAskedForAndScaled(t *testing.T) {
	e := embedder(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/v1/embeddings" || r.Header.Get("Authorization") != "Bearer sk-secret" ||
			gjson.GetBytes(body, "model").Str != "embed" || gjson.GetBytes(body, "input").Str != `a "text"` {
			t.Errorf("%s %v %s", r.URL, r.Header, body)
		}
		_, _ = io.WriteString(w, `{"data":[{"embedding":[3,4]}],"usage":{"prompt_tokens":5,"total_tokens":5}}`)
	})
	got, tokens, err := e.Embed(t.Context(), `a "text"`)
	if err != nil || tokens != 5 {
		t.Fatalf("%d tokens, error %v", tokens, err)
	}
	if diff := cmp.Diff([]float32{0.6, 0.8}, got); diff != "" {
		t.Error(diff)
	}
}

func TestErrorsOfEmbeddingsHoldNoSecrets(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"an error":     func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "sk-secret private", 500) },
		"not JSON":     func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "private") },
		"no embedding": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[]}`) },
		"no direction": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{"data":[{"embedding":[0]}]}`) },
		"no answer":    func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		_, _, err := embedder(t, handler).Embed(t.Context(), "private")
		if err == nil || strings.Contains(err.Error(), "private") || strings.Contains(err.Error(), "sk-secret") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, _, err := (&Embedder{Client: http.DefaultClient, Base: "\n"}).Embed(t.Context(), "private"); err == nil {
		t.Error("an address that is none was taken")
	}
}
