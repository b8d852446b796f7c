package page

import (
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"
)

// sample is a page with a row of everything.
func sample() View {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	return View{
		Now: now, Refresh: 5, Version: "1.0",
		Config:    Config{Source: "gateway.yaml", Hash: "abc123", Loaded: now.Add(-time.Hour), Refused: "line 3: unknown key"},
		Totals:    []Total{{Name: "requests a second", Value: "12"}},
		Tenants:   []Tenant{{Name: "search", Keys: 2, Limits: []Limit{{Resource: "requests a minute", Left: "30", Limit: "60", Share: 0.5, Known: true}}}, {Name: "free"}},
		Models:    []Model{{Alias: "small", Targets: []Target{{Name: "a/x", Role: "stable", Share: "95 %", Requests: 9, Errors: 1}, {Name: "a/y", Role: "canary", Share: "5 %"}}}},
		Endpoints: []Endpoint{{Provider: "a", URL: "http://a:1", State: "up"}, {Provider: "a", URL: "http://b:1", State: "resting", KVUsage: "40 %"}},
		Requests:  []Request{{ID: "req-1", Tenant: "search", Alias: "small", Phase: "streaming", Age: 1500 * time.Millisecond, Output: 7}},
		Serving:   3,
	}
}

func render(t *testing.T, v View) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, v); err != nil {
		t.Fatal(err)
	}
	if _, err := html.Parse(strings.NewReader(b.String())); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestPageShowsEverything(t *testing.T) {
	text := render(t, sample())
	for _, want := range []string{
		`content="5"`, "gateway.yaml", "abc123", "line 3: unknown key", "requests a second", "search", "<b>30</b> of 60", `value="50"`,
		"a/x", "canary", "95 %", "http://b:1", `class="bad">resting`, "req-1", "1.5 s", "3 being served, the oldest 1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "src=") || strings.Contains(text, "http-equiv=\"refresh\"") && strings.Contains(render(t, View{}), "refresh\" content") {
		t.Error("the page loads something, or loads itself unasked")
	}
}

// What clients choose, such as a request's id, is text and nothing more.
func TestPageEscapes(t *testing.T) {
	v := sample()
	v.Requests[0].ID = `<img src=x onerror=alert(1)>`
	v.Tenants[0].Name = `"><script>`
	if text := render(t, v); strings.Contains(text, "<img") || strings.Contains(text, "<script") {
		t.Error("a name became markup")
	}
}
