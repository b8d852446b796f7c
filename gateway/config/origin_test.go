package config

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

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
