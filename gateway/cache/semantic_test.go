package cache

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

const chatPath = "/v1/chat/completions"

func fieldsOf(body string) map[string]gjson.Result { return gjson.Parse(body).Map() }

func chat(question string) string {
	return fmt.Sprintf(`{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":%q}]}`, question)
}

func TestWhatIsComparedByMeaning(t *testing.T) {
	user := func(content string) string { return `{"messages":[{"role":"user","content":` + content + `}]}` }
	for _, test := range []struct {
		name, body string
		want       Bypass
	}{
		{"one question", chat("How do I cancel?"), ""},
		{"text in parts", user(`[{"type":"text","text":"How do"},{"type":"text","text":"I cancel?"}]`), ""},
		{"no tools", `{"tools":[],"messages":[{"role":"user","content":"a b"}]}`, ""},
		{"tools", `{"tools":[{}],"messages":[{"role":"user","content":"a b"}]}`, BypassTools},
		{"functions", `{"functions":[{}],"messages":[{"role":"user","content":"a b"}]}`, BypassTools},
		{"a search of the web", `{"web_search_options":{},"messages":[{"role":"user","content":"a b"}]}`, BypassTools},
		{"a result of a tool", `{"messages":[{"role":"user","content":"a"},{"role":"tool","content":"b"}]}`, BypassTools},
		{"two choices", `{"n":2,"messages":[{"role":"user","content":"a b"}]}`, BypassChoices},
		{"a second turn", `{"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`, BypassTurns},
		{"two questions", `{"messages":[{"role":"user","content":"a"},{"role":"user","content":"c"}]}`, BypassTurns},
		{"a system message at the end", `{"messages":[{"role":"user","content":"a"},{"role":"system","content":"c"}]}`, BypassTurns},
		{"an image", user(`[{"type":"text","text":"what is it"},{"type":"image_url","image_url":{"url":"x"}}]`), BypassContent},
		{"nothing", user(`" "`), BypassContent},
		{"no content", user(`null`), BypassContent},
		{"no messages", `{}`, BypassContent},
		{"a long text", user(`"` + strings.Repeat("x", maxQuestion+1) + `"`), BypassContent},
		{"the present", chat("Who is the president now?"), BypassTime},
		{"the hour", chat("What time is it?"), BypassTime},
	} {
		question, got := ControlOf(http.Header{}).Semantic(chatPath, fieldsOf(test.body))
		if got != test.want {
			t.Errorf("%s: bypassed for %q, want %q", test.name, got, test.want)
		}
		if got == "" && question == "" {
			t.Errorf("%s: no question", test.name)
		}
	}
}

func TestWhatIsComparedExactly(t *testing.T) {
	for _, test := range []struct {
		name, path, body string
		header           map[string]string
		want             Bypass
	}{
		{"temperature 0", chatPath, `{"temperature":0}`, nil, ""},
		{"temperature 0.0", "/v1/completions", `{"temperature":0.0}`, nil, ""},
		{"no temperature", chatPath, `{}`, nil, BypassTemperature},
		{"another temperature", chatPath, `{"temperature":0.1}`, nil, BypassTemperature},
		{"a temperature in words", chatPath, `{"temperature":"0"}`, nil, BypassTemperature},
		{"no temperature in words", chatPath, `{"temperature":null}`, nil, BypassTemperature},
		{"another path", "/v1/responses", `{"temperature":0}`, nil, BypassPath},
		{"data of a user", chatPath, `{"temperature":0}`, map[string]string{"x-llmctl-user-data": "true"}, BypassUserData},
		{"a flag that is not clearly off", chatPath, `{"temperature":0}`, map[string]string{"x-llmctl-user-data": "yes, maybe"}, BypassUserData},
		{"a flag that is off", chatPath, `{"temperature":0}`, map[string]string{"x-llmctl-user-data": "False"}, ""},
		{"no-store", chatPath, `{"temperature":0}`, map[string]string{"cache-control": "max-age=5, No-Store"}, BypassNoStore},
		{"no-cache only skips the look-up", chatPath, `{"temperature":0}`, map[string]string{"cache-control": "no-cache"}, ""},
	} {
		h := http.Header{}
		for k, v := range test.header {
			h.Set(k, v)
		}
		if got := ControlOf(h).Exact(test.path, fieldsOf(test.body)); got != test.want {
			t.Errorf("%s: bypassed for %q, want %q", test.name, got, test.want)
		}
	}
}

func TestTheClientSaysHowOldAnAnswerMayBe(t *testing.T) {
	for header, want := range map[string]bool{
		"": true, "max-age=60": true, `max-age="60"`: true, "max-age=10": false, "max-age=0": false, "no-cache": false, "max-age=-1": true, "max-age=x": true, "public": true,
	} {
		c := ControlOf(http.Header{"Cache-Control": {header}})
		if got := c.Accepts(30 * time.Second); got != want {
			t.Errorf("Cache-Control %q takes an answer of 30 s: %v", header, got)
		}
	}
}

func TestQuestionsThatOnlyLookAlikeHaveDifferentGuards(t *testing.T) {
	for _, pair := range [][2]string{
		{"cancel my order", "don't cancel my order"},
		{"Cancel my order", "Do not cancel my order"},
		{"cancel my order", "never cancel my order"},
		{"cancel my order", "don’t cancel my order"},
		{"cancel my order", "dont cancel my order"},
		{"cancel it and don't ship it", "ship it and don't cancel it"},
		{"how do I enable it", "how do I disable it"},
		{"what are 5 ways", "what are 6 ways"},
		{"convert 5 miles to 10", "convert 10 miles to 5"},
		{"what is the capital of France", "what is the capital of Germany"},
		{"flights from Paris to Rome", "flights from Rome to Paris"},
		{`what does "foo" mean`, `what does "bar" mean`},
		{"explain «a b»", "explain «a c»"},
		{"mail to a@b.org", "mail to a@c.org"},
		{"install node-18", "install node-20"},
		{"what is in file_a", "what is in file_b"},
		{"Kann ich das stornieren?", "Kann ich das nicht stornieren?"},
		{"je veux annuler", "je ne veux pas annuler"},
		{"can I travel with a dog", "can I travel without a dog"},
		{"is it safe", "is it unsafe"},
	} {
		if GuardOf(pair[0]) == GuardOf(pair[1]) {
			t.Errorf("%q and %q share the guard %q", pair[0], pair[1], GuardOf(pair[0]))
		}
	}
}

func TestTheSameQuestionInOtherWordsHasTheSameGuard(t *testing.T) {
	for _, pair := range [][2]string{
		{"cancel my order", "please cancel my order!"},
		{"don't cancel my order", "do not cancel my order"},
		{"How can I reset my password?", "How could one reset a password"},
		{"what is the capital of France", "please tell me what is the capital of France"},
	} {
		if a, b := GuardOf(pair[0]), GuardOf(pair[1]); a != b {
			t.Errorf("%q has the guard %q, %q has %q", pair[0], a, pair[1], b)
		}
	}
}

func TestASpaceIsEverythingButTheQuestion(t *testing.T) {
	space := func(body string) Key {
		key, ok := searchScope.Space([]byte(body))
		if !ok {
			t.Fatalf("no space for %s", body)
		}
		return key
	}
	base := chat("one")
	want := space(base)
	if space(chat("two")) != want || space(strings.Replace(base, `"m"`, `"m","stream":true,"user":"u"`, 1)) != want {
		t.Error("the question, or how it is delivered, changes the space")
	}
	for _, other := range []string{
		strings.Replace(base, "brief", "long", 1),
		strings.Replace(base, `"m"`, `"m","max_tokens":5`, 1),
		strings.Replace(base, `"m"`, `"m","temperature":1`, 1),
		strings.Replace(base, `"role":"user"`, `"role":"user","name":"x"`, 1),
		`{"model":"m","messages":[{"role":"user","content":"one"}]}`,
	} {
		if space(other) == want {
			t.Errorf("%s is in the space of %s", other, base)
		}
	}
	if one, again := want.Entry("one"), space(base).Entry("one"); one == want.Entry("two") || one != again {
		t.Error("entries do not follow the question")
	}
}

func FuzzGuard(f *testing.F) {
	for _, seed := range []string{"cancel my order", "don't", "«a", `"x" "y`, "a.b-c@d 3.14 '", "é’t n't", "I'm NASA"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		dependsOnTime(text)
		if GuardOf("not "+text) == GuardOf(text) {
			t.Errorf("a negation makes no difference to %q", text)
		}
	})
}

func BenchmarkGuard(b *testing.B) {
	text := strings.Repeat("please don't cancel my order of 5 items from Paris ", 20)
	b.ReportAllocs()
	for b.Loop() {
		GuardOf(text)
	}
}
