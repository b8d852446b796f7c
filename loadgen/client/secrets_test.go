package client

import (
	"net/http"
	"strings"
	"testing"
)

// TestOwnAuthorization: what the user says on the command line is stronger than the
// key of the environment and than the URL.
func TestOwnAuthorization(t *testing.T) {
	target, err := parseEndpoint("http://me:password@host/v1?api-version=3&api-key=secret-1")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		own, key, want string
	}{{"Bearer own", "sk-env", "Bearer own"}, {"", "sk-env", "Bearer sk-env"}, {"", "", "Basic bWU6cGFzc3dvcmQ="}} {
		o := Options{APIKey: tt.key, Headers: http.Header{}}
		if tt.own != "" {
			o.Headers.Set("Authorization", tt.own)
		}
		h, err := o.header(target)
		if err != nil || h.Get("Authorization") != tt.want {
			t.Errorf("own %q, key %q: %q, %v", tt.own, tt.key, h.Get("Authorization"), err)
		}
	}
	if got := target.asked(target.generate(Chat)); got != "http://host/v1/chat/completions?api-version=3&api-key=secret-1" {
		t.Errorf("asked at %s", got)
	}
	if got := target.String() + redact("secret-1", secrets(Options{}, target)); strings.Contains(got, "secret-1") || strings.Contains(got, "?") {
		t.Errorf("shown as %s", got)
	}
}

func TestRedact(t *testing.T) {
	target, err := parseEndpoint("http://me:p%40ssword@host")
	if err != nil {
		t.Fatal(err)
	}
	hidden := secrets(Options{APIKey: "sk-secret", Headers: http.Header{
		"Authorization": {"Bearer tok-123456"}, "X-Api-Key": {"key-123456"}, "X-Team": {"search"}, "X-Token": {"x"},
	}}, target)
	for in, want := range map[string]string{
		"bad key sk-secret!":          "bad key [API key]!",
		"as text c2stc2VjcmV0":        "as text [API key]",
		"bad tok-123456":              "bad [API key]",
		"sent Bearer tok-123456":      "sent [API key]",
		"key-123456 of team search":   "[API key] of team search",
		"p@ssword or p%40ssword":      "[API key] or [API key]",
		"sent Basic bWU6cEBzc3dvcmQ=": "sent Basic [API key]",
		"cut in the key: sk-sec…":     "cut in the key: [API key]…",
		"not shortened: sk-sec":       "not shortened: sk-sec",
		"a placeholder such as x is":  "a placeholder such as x is",
	} {
		if got := redact(in, hidden); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if got := redact(OneLine(strings.Repeat("a", maxDetail-6)+"sk-secret"), hidden); strings.Contains(got, "sk-s") {
		t.Errorf("a shortened message shows the key: %q", got[maxDetail-10:])
	}
}
