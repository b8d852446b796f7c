package client

import (
	"net/http"
	"strings"
	"testing"
)

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
