package cache

import (
	"fmt"
	"strings"
	"testing"
)

var searchScope = Scope{Tenant: "search", Alias: "small", Version: "1", Path: "/v1/chat/completions"}

func exact(t testing.TB, s Scope, body string) Key {
	t.Helper()
	key, ok := s.Exact([]byte(body))
	if !ok {
		t.Fatalf("no key for %s", body)
	}
	return key
}

const asked = `{"model":"small","temperature":0,"messages":[{"role":"user","content":"hi"}]}`

func TestEveryFieldThatCanChangeAnAnswerIsInTheKey(t *testing.T) {
	seen := map[Key]string{exact(t, searchScope, asked): "as it was"}
	for _, field := range []string{
		`"tools":[{"type":"function","function":{"name":"f"}}]`, `"tool_choice":"none"`, `"response_format":{"type":"json_object"}`, `"seed":1`, `"seed":2`,
		`"max_tokens":5`, `"max_completion_tokens":5`, `"stop":["x"]`, `"logit_bias":{"1":2}`, `"top_p":0.5`, `"n":2`, `"logprobs":true`, `"guided_json":{}`,
		`"chat_template_kwargs":{"enable_thinking":false}`, `"cache_salt":"a"`, `"x_future":1`, `"reasoning_effort":"low"`,
	} {
		key := exact(t, searchScope, strings.TrimSuffix(asked, "}")+","+field+"}")
		if other, ok := seen[key]; ok {
			t.Errorf("with %s the key is that of the request %s", field, other)
		}
		seen[key] = field
	}
	for _, message := range []string{
		`{"role":"system","content":"hi"}`, `{"role":"user","content":"hi","name":"x"}`, `{"role":"tool","tool_call_id":"1","content":"hi"}`,
		`{"role":"tool","tool_call_id":"2","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"hi"}]}`,
	} {
		key := exact(t, searchScope, `{"model":"small","temperature":0,"messages":[`+message+`]}`)
		if other, ok := seen[key]; ok {
			t.Errorf("with the message %s the key is that of %s", message, other)
		}
		seen[key] = message
	}
}

func TestWhoAsksAndHowItIsDeliveredIsNotInTheKey(t *testing.T) {
	want := exact(t, searchScope, asked)
	for _, field := range []string{`"user":"u1"`, `"stream":true`, `"stream_options":{"include_usage":true}`, `"metadata":{"a":"b"}`, `"priority":3`, `"prompt_cache_key":"x"`} {
		if exact(t, searchScope, `{`+field+`,`+asked[1:]) != want {
			t.Errorf("%s changes the key", field)
		}
	}
}

func TestEveryPartOfTheScopeIsInTheKey(t *testing.T) {
	seen := map[Key]Scope{}
	for _, s := range []Scope{
		searchScope,
		{Tenant: "chat", Alias: "small", Version: "1", Path: "/v1/chat/completions"},
		{Tenant: "search", Alias: "large", Version: "1", Path: "/v1/chat/completions"},
		{Tenant: "search", Alias: "small", Version: "2", Path: "/v1/chat/completions"},
		{Tenant: "search", Alias: "small", Version: "1", Path: "/v1/completions"},
		{Tenant: "search", Alias: "small", Version: "1", Path: "/v1/chat/completions", Steer: []string{"batch"}},
		{Tenant: "search", Alias: "small", Version: "1", Path: "/v1/chat/completions", Steer: []string{"", "batch"}},
		{Tenant: "searchs", Alias: "mall", Version: "1", Path: "/v1/chat/completions"},
	} {
		key := exact(t, s, asked)
		if other, ok := seen[key]; ok {
			t.Errorf("%+v and %+v share a key", s, other)
		}
		seen[key] = s
		space, ok := s.Space([]byte(asked))
		if _, taken := seen[space]; taken || !ok {
			t.Errorf("%+v shares its space", s)
		}
		seen[space] = s
	}
}

func TestLargeBodiesHaveNoKey(t *testing.T) {
	body := fmt.Sprintf(`{"prompt":%q}`, strings.Repeat("x", MaxBody))
	if _, ok := searchScope.Exact([]byte(body)); ok {
		t.Error("a body above the bound has a key")
	}
	if _, ok := searchScope.Space([]byte(body)); ok {
		t.Error("a body above the bound has a space")
	}
}

func TestVersionFollowsTheConfiguration(t *testing.T) {
	type part struct{ A, B string }
	version := func(parts ...any) string {
		v, err := VersionOf(parts...)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	if first, again := version(part{"a", "b"}, 1), version(part{"a", "b"}, 1); first != again {
		t.Error("equal configurations have different versions")
	}
	if version(part{"a", "b"}) == version(part{"ab", ""}) || version(1, 2) == version(12) {
		t.Error("different configurations have the same version")
	}
	if _, err := VersionOf(func() {}); err == nil {
		t.Error("a configuration without a JSON form has a version")
	}
}

func BenchmarkExactKey(b *testing.B) {
	for _, size := range []int{1 << 10, 50 << 10} {
		body := []byte(fmt.Sprintf(`{"model":"small","temperature":0,"stream":true,"messages":[{"role":"user","content":%q}]}`, strings.Repeat("some text\n", size/10)))
		b.Run(fmt.Sprint(size>>10, " KiB"), func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := searchScope.Exact(body); !ok {
					b.Fatal("no key")
				}
			}
		})
	}
}
