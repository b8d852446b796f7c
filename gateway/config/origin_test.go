package config

import (
	"path"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// FuzzOrigin: what is taken is a pattern that matches the origin it looks like.
func FuzzOrigin(f *testing.F) {
	for _, text := range []string{"*", "https://a.example", "http://localhost:*", "https://[::1]:8080", "https://a\\b", "https://[a"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !validOrigin(text) {
			return
		}
		origin := strings.ReplaceAll(text, "*", "x")
		if ok, err := path.Match(text, origin); !ok || err != nil {
			t.Errorf("%q does not match %q: %v", text, origin, err)
		}
	})
}

func TestOrigin(t *testing.T) {
	for _, text := range []string{"*", "https://a.example", "http://localhost:*", "https://*.example.com:8443"} {
		var o Origin
		if err := yaml.Unmarshal([]byte(`"`+text+`"`), &o); err != nil || string(o) != text {
			t.Errorf("%q is read as %q, %v", text, o, err)
		}
	}
	for _, text := range []string{"", "example.com", "https://", "https://a/b", "https://a/", "ftp://a", "https://[", "https://a?b", "https://u:p@a", "https://a b"} {
		var o Origin
		if err := yaml.Unmarshal([]byte(`"`+text+`"`), &o); err == nil || !strings.Contains(err.Error(), "https://app.example.com") {
			t.Errorf("%q: %v", text, err)
		}
	}
}
