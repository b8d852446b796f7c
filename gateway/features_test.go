package gateway

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
)

// Of a request, what its prompt is made of decides where its cache may be: the
// tools among it, which are rendered first; nothing else does.
func TestBlocksOfARequestAreThoseOfItsPrompt(t *testing.T) {
	const (
		tools  = `"tools":[{"type":"function","function":{"name":"f"}}]`
		others = `"tools":[{"type":"function","function":{"name":"g"}}]`
	)
	system := `{"role":"system","content":"` + strings.Repeat("Be kind. ", 20) + `"}`
	first := `"messages":[` + system + `,{"role":"user","content":"` + strings.Repeat("why ", 40) + `"}`
	base := `{"model":"small",` + tools + `,` + first + `]}`
	tests := []struct {
		name, body string
		same       bool
	}{
		{"the same again", base, true},
		{"fields in another order", `{` + first + `],` + tools + `,"model":"small"}`, true},
		{"another temperature, streamed", `{"model":"small","stream":true,"temperature":1,` + tools + `,` + first + `]}`, true},
		{"the next turn", `{"model":"small",` + tools + `,` + first + `,{"role":"assistant","content":"so"}]}`, true},
		{"other tools", `{"model":"small",` + others + `,` + first + `]}`, false},
		{"no tools", `{"model":"small",` + first + `]}`, false},
	}
	blocks := func(body, model, salt string) []string {
		q, err := parseRequest(&chat, []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, b := range q.blocks(model, salt) {
			words = append(words, string(b[:]))
		}
		return words
	}
	want := blocks(base, "m", "salt")
	if len(want) < 5 {
		t.Fatalf("%d blocks", len(want))
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := blocks(test.body, "m", "salt")
			if same := len(got) >= len(want) && slices.Equal(got[:len(want)], want); same != test.same {
				t.Errorf("begins with the same blocks: %t, want %t", same, test.same)
			}
		})
	}
	for _, other := range [][]string{blocks(base, "n", "salt"), blocks(base, "m", tenantSalt("other"))} {
		if slices.Contains(other, want[len(want)-1]) || other[0] == want[0] {
			t.Error("another model's or tenant's prompt has the same blocks")
		}
	}
}

func TestWhatARequestNeeds(t *testing.T) {
	tests := []struct {
		name    string
		dialect *dialect
		body    string
		want    string
	}{
		{"text", &chat, `{"model":"m","messages":[{"role":"user","content":"an image_url"}]}`, ""},
		{"a part of text", &chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"image_url"}]}]}`, ""},
		{"an image", &chat, `{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url","image_url":{"url":"u"}}]}]}`, "vision"},
		{"tools and a schema", &chat, `{"model":"m","messages":[],"tools":[{}],"response_format":{"type":"json_schema"}}`, "tools json_schema"},
		{"null tools", &chat, `{"model":"m","messages":[],"tools":null}`, ""},
		{"a response", &responses, `{"model":"m","input":"x"}`, "responses"},
		{"a response to an image in JSON", &responses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_image","image_url":"u"}]}],"text":{"format":{"type":"json_schema"}}}`, "responses vision json_schema"},
		{"embeddings", &embeddings, `{"model":"m","input":"x"}`, "embeddings"},
		{"content that is none", &chat, `{"model":"m","messages":"an image"}`, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			q, err := parseRequest(test.dialect, []byte(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(q.needs(), " "); got != test.want {
				t.Errorf("needs %q, want %q", got, test.want)
			}
		})
	}
}

// BenchmarkPlan is what choosing a target, hashing the prompt for affinity and
// taking it into the report add to a request of 2 KiB.
func BenchmarkPlan(b *testing.B) {
	s := serve(b, replies(200, plainReply), configure(func(c *config.Config) {
		c.Models[0].Sticky = "tenant"
		c.Models[0].Targets = append(c.Models[0].Targets, config.Target{Provider: "cluster", Model: "other", Canary: true})
	}))
	q, err := parseRequest(&chat, []byte(`{"model":"small","messages":[{"role":"system","content":"`+strings.Repeat("Be kind. ", 220)+`"},{"role":"user","content":"hi"}]}`))
	if err != nil {
		b.Fatal(err)
	}
	x := s.gateway.begin(httptest.NewRecorder(), s.request(b.Context(), ""))
	if f := x.authenticate(); f != nil {
		b.Fatal(f.outcome)
	}
	if f := x.resolve(q.model); f != nil {
		b.Fatal(f.outcome)
	}
	for _, step := range []struct {
		name string
		run  func()
	}{{"plan", func() { _, _ = x.plan(q) }}, {"blocks", func() { q.blocks("m", "salt") }}, {"report", func() { x.sketch(q) }}} {
		b.Run(step.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				step.run()
			}
		})
	}
}
