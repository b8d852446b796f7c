package client

import (
	"strings"
	"testing"
)

// FuzzEndpoint checks that whatever is accepted is a URL without credentials,
// to which paths can be added, and that reading it again changes nothing.
func FuzzEndpoint(f *testing.F) {
	for _, s := range []string{"localhost:8000", "http://me:pw@host/v1/?q#f", "https://api.example.com/proxy/v1", "[::1]:80", "http://", "a@b@c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := parseEndpoint(s)
		if err != nil {
			return
		}
		again, err := parseEndpoint(e.String())
		if err != nil || again.root.String() != e.root.String() {
			t.Errorf("%q is read as %s, which is read as %v, %v", s, e, again.root, err)
		}
		if e.root.User != nil || e.root.RawQuery != "" || !strings.HasSuffix(e.models(), "/v1/models") {
			t.Errorf("%q is read as %s", s, e.models())
		}
	})
}
