package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/llmctl/llmctl/loadgen/mock"
)

func TestEndpoint(t *testing.T) {
	for in, want := range map[string]string{
		"http://localhost:8000":            "http://localhost:8000/v1/chat/completions",
		"http://localhost:8000/":           "http://localhost:8000/v1/chat/completions",
		"http://localhost:8000/v1":         "http://localhost:8000/v1/chat/completions",
		"http://localhost:8000/v1/":        "http://localhost:8000/v1/chat/completions",
		"localhost:8000":                   "http://localhost:8000/v1/chat/completions",
		"https://api.example.com/proxy/v1": "https://api.example.com/proxy/v1/chat/completions",
		"http://me:pw@host/v1?x=y":         "http://host/v1/chat/completions",
		"[::1]:80":                         "http://[::1]:80/v1/chat/completions",
	} {
		e, err := parseEndpoint(in)
		if err != nil || e.generate(Chat) != want {
			t.Errorf("%s: %s, %v, want %s", in, e.generate(Chat), err, want)
		}
		if metrics := strings.Replace(want, "/v1/chat/completions", "/metrics", 1); e.metrics() != metrics {
			t.Errorf("%s: metrics at %s", in, e.metrics())
		}
	}
}

func TestProbe(t *testing.T) {
	page := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<html><title>Welcome</title></html>"))
	}
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	mux := http.NewServeMux() // a proxy that passes generation alone
	mux.HandleFunc("/", page)
	mux.HandleFunc("POST /v1/chat/completions", status(400, `{"error":{"message":"no body"}}`))
	tests := []struct {
		name    string
		handler http.Handler
		models  []Model
		err     error
	}{
		{"two models", &mock.Server{Models: []string{"a", "b"}}, []Model{{ID: "a"}, {ID: "b"}}, nil},
		{"lengths", status(200, `{"data":[{"id":"a","max_model_len":4096},{"id":"b","max_model_len":null},{"id":"c","max_model_len":"long"},{"id":"d","max_model_len":-1},{"max_model_len":7}]}`),
			[]Model{{"a", 4096}, {"b", 0}, {"c", 0}, {"d", 0}}, nil},
		{"no list", status(404, `{"error":{"message":"not found"}}`), nil, nil},
		{"forbidden list", status(403, `{}`), nil, nil},
		{"wrong key", status(401, `{"error":{"message":"bad key sk-secret"}}`), nil, ErrUnauthorized},
		{"HTML page", http.HandlerFunc(page), nil, ErrNotAPI},
		{"404 in plain text", http.HandlerFunc(http.NotFound), nil, ErrNotAPI},
		{"text that repeats the key", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("you sent " + r.Header.Get("Authorization")))
		}), nil, ErrNotAPI},
		{"some JSON", status(200, `{"hello":"world"}`), nil, nil},
		{"empty answer", status(200, ""), nil, nil},
		{"list hidden behind a page", mux, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ts := httptest.NewServer(tt.handler)
			defer ts.Close()
			models, err := Probe(t.Context(), Options{Endpoint: ts.URL, APIKey: "sk-secret"})
			if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) || !cmp.Equal(tt.models, models) {
				t.Errorf("%v, %v; want %v, %v", models, err, tt.models, tt.err)
			}
			if err != nil && (strings.ContainsAny(err.Error(), "\n\r") || strings.Contains(err.Error(), "sk-secret")) {
				t.Errorf("error is not one safe line: %q", err)
			}
		})
	}
	t.Run("interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ts := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			cancel()
			<-r.Context().Done()
		}))
		defer ts.Close()
		if _, err := Probe(ctx, Options{Endpoint: ts.URL}); err != context.Canceled { //nolint:errorlint // itself, not a failure of the endpoint
			t.Errorf("error %v", err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = l.Close() // its port is free now
		if _, err := Probe(t.Context(), Options{Endpoint: l.Addr().String()}); !errors.Is(err, ErrUnreachable) {
			t.Errorf("error %v", err)
		}
	})
}

func TestOnlyModel(t *testing.T) {
	if name, err := OnlyModel([]Model{{ID: "m"}}); name != "m" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	for _, models := range [][]Model{nil, {{ID: "a"}, {ID: "b"}}} {
		if _, err := OnlyModel(models); err == nil {
			t.Errorf("no error for %v", models)
		}
	}
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\n\tb\r\n c":           "a b c",
		"\x1b[31mred":            `\x1b[31mred`,
		"bad \xff byte":          "bad \uFFFD byte",
		strings.Repeat("é", 400): strings.Repeat("é", maxDetail/2) + "…",
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
}
