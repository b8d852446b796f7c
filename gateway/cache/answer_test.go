package cache

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

func recorded(choices int64, events ...string) *Answer {
	r := &Recorder{Choices: choices}
	for _, e := range events {
		r.Event([]byte(e))
	}
	return r.Answer()
}

const (
	role   = `{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}`
	hello  = `{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":"Hello"},"finish_reason":null}],"usage":null}`
	world  = `{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{"content":" w\u00f6rld"},"finish_reason":null}],"usage":null}`
	finish = `{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"stop","stop_reason":null}],"usage":null}`
	usage  = `{"id":"1","object":"chat.completion.chunk","created":7,"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`
)

func TestOnlyCompleteAnswersAreKept(t *testing.T) {
	withFinish := func(reason string) string { return strings.Replace(finish, "stop\"", reason+"\"", 1) }
	for _, test := range []struct {
		name    string
		choices int64
		events  []string
		kept    bool
	}{
		{"a complete one", 1, []string{role, hello, finish}, true},
		{"one at its length", 1, []string{hello, withFinish("length")}, true},
		{"one with tool calls", 1, []string{hello, withFinish("tool_calls")}, true},
		{"a cut one", 1, []string{role, hello}, false},
		{"one of two choices", 2, []string{hello, finish}, false},
		{"a filtered one", 1, []string{hello, withFinish("content_filter")}, false},
		{"an aborted one", 1, []string{hello, withFinish("abort")}, false},
		{"one with an error", 1, []string{hello, `{"error":{"message":"x"}}`, finish}, false},
		{"an error of null", 1, []string{`{"error":null,"choices":[]}`, finish}, true},
		{"one that is too large", 1, []string{strings.Repeat(" ", maxAnswer) + hello, finish}, false},
		{"nothing", 1, nil, false},
	} {
		if a := recorded(test.choices, test.events...); (a != nil) != test.kept {
			t.Errorf("%s: kept %v", test.name, a != nil)
		}
	}
	var none *Recorder
	none.Event([]byte(hello))
	none.Document([]byte(hello))
	none.Spoil()
	if none.Answer() != nil {
		t.Error("nothing was recorded, and kept")
	}
	r := &Recorder{}
	r.Document([]byte(whole))
	if a := r.Answer(); a == nil || a.Streamed() || a.Finish != "stop" {
		t.Errorf("a whole answer: %+v", a)
	}
	r.Spoil()
	if r.Answer() != nil {
		t.Error("a spoiled answer was kept")
	}
}

const whole = `{"id":"1","object":"chat.completion","created":7,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello wörld"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`

func sameJSON(t testing.TB, got []byte, want string) {
	t.Helper()
	var g, w any
	if err := json.Unmarshal(got, &g); err != nil {
		t.Fatalf("%v in %s", err, got)
	}
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(w, g); diff != "" {
		t.Errorf("want − got +\n%s", diff)
	}
}

func TestAStreamBecomesAWholeAnswer(t *testing.T) {
	chunk := func(choice string) string {
		return `{"id":"1","object":"chat.completion.chunk","choices":[` + choice + `]}`
	}
	for _, test := range []struct {
		name   string
		events []string
		want   string
	}{
		{"text", []string{role, hello, world, strings.Replace(finish, `,"stop_reason":null`, "", 1), usage}, whole},
		{"interleaved tool calls", []string{
			chunk(`{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":""}}]}}`),
			chunk(`{"index":0,"delta":{"tool_calls":[{"index":1,"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\""}}]}}`),
			chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"}},{"index":1,"function":{"arguments":":2}"}}]}}`),
			chunk(`{"index":0,"delta":{},"finish_reason":"tool_calls"}`),
		}, `{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[
			{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"g","arguments":"{\"y\":2}"}}]},"finish_reason":"tool_calls"}]}`},
		{"two choices, reasoning and probabilities", []string{
			chunk(`{"index":1,"delta":{"role":"assistant","reasoning_content":"hm"},"logprobs":null}`),
			chunk(`{"index":0,"delta":{"role":"assistant","content":"A"},"logprobs":{"content":[{"token":"A","logprob":-1}]}}`),
			chunk(`{"index":0,"delta":{"content":"B"},"logprobs":{"content":[{"token":"B","logprob":-2}]},"finish_reason":"length"}`),
			chunk(`{"index":1,"delta":{"reasoning_content":"m","content":"C"},"finish_reason":"stop"}`),
		}, `{"id":"1","object":"chat.completion","choices":[
			{"index":0,"message":{"role":"assistant","content":"AB"},"logprobs":{"content":[{"token":"A","logprob":-1},{"token":"B","logprob":-2}]},"finish_reason":"length"},
			{"index":1,"message":{"role":"assistant","reasoning_content":"hmm","content":"C"},"finish_reason":"stop"}]}`},
		{"a completion", []string{
			`{"id":"2","object":"text_completion","choices":[{"index":0,"text":"on","finish_reason":null}]}`,
			`{"id":"2","object":"text_completion","choices":[{"index":0,"text":"ce","finish_reason":"stop"}]}`,
		}, `{"id":"2","object":"text_completion","choices":[{"index":0,"text":"once","finish_reason":"stop"}]}`},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := &Answer{}
			for _, e := range test.events {
				a.Events = append(a.Events, []byte(e))
			}
			document, ok := a.Document()
			if !ok {
				t.Fatal("no document")
			}
			sameJSON(t, document, test.want)
		})
	}
}

func TestWhatCanNotBeJoinedIsNot(t *testing.T) {
	for name, events := range map[string][2]string{
		"a number that changes": {`{"choices":[{"index":0,"delta":{"x":1}}]}`, `{"choices":[{"index":0,"delta":{"x":2}}]}`},
		"a call out of order":   {`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":3}]}}]}`, `{}`},
		"a negative index":      {`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":-1}]}}]}`, `{}`},
		"another role":          {`{"choices":[{"index":0,"delta":{"role":"assistant"}}]}`, `{"choices":[{"index":0,"delta":{"role":"user"}}]}`},
	} {
		a := &Answer{Events: [][]byte{[]byte(events[0]), []byte(events[1])}}
		if document, ok := a.Document(); ok {
			t.Errorf("%s became %s", name, document)
		}
	}
}

// An answer keeps its meaning when it goes from whole to stream and back.
func TestAWholeAnswerSurvivesItsStream(t *testing.T) {
	for _, document := range []string{
		whole,
		`{"id":"1","object":"chat.completion","system_fingerprint":"fp","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{\"x\":\"\\\"\"}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
		`{"id":"1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"A","refusal":"no"},"logprobs":{"content":[{"token":"A"}]},"finish_reason":"stop"},{"index":1,"message":{"role":"assistant","content":"B","reasoning":"r"},"finish_reason":"length"}]}`,
		`{"id":"1","object":"text_completion","choices":[{"index":0,"text":"x","finish_reason":"stop"},{"index":1,"text":"","finish_reason":"length"}],"usage":{"prompt_tokens":1}}`,
	} {
		r := &Recorder{Choices: gjson.Get(document, "choices.#").Int()}
		for _, e := range (&Answer{Whole: []byte(document)}).Stream(true) {
			if gjson.GetBytes(e, "object").Str == "chat.completion" {
				t.Errorf("chunk %s has the object of a whole", e)
			}
			r.Event(e)
		}
		a := r.Answer()
		if a == nil {
			t.Fatalf("%s became an incomplete stream", document)
		}
		again, ok := a.Document()
		if !ok {
			t.Fatalf("%s did not survive", document)
		}
		sameJSON(t, again, document)
	}
}

func TestUsageIsToldToThoseWhoAsk(t *testing.T) {
	streamed := recorded(1, role, hello, finish, usage)
	for name, a := range map[string]*Answer{"streamed": streamed, "whole": {Whole: []byte(whole)}} {
		count := func(events [][]byte) (n int) {
			for _, e := range events {
				if gjson.GetBytes(e, "usage.prompt_tokens").Int() == 3 {
					n++
				}
			}
			return n
		}
		if count(a.Stream(true)) != 1 || count(a.Stream(false)) != 0 {
			t.Errorf("%s: usage with %d, without %d", name, count(a.Stream(true)), count(a.Stream(false)))
		}
	}
}

// However a text is cut into chunks, the whole is the text.
func TestTheTextOfAnyStreamIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOf(rapid.String()).Draw(t, "pieces")
		a := &Answer{}
		for _, p := range pieces {
			text, _ := json.Marshal(p)
			a.Events = append(a.Events, []byte(`{"choices":[{"index":0,"delta":{"content":`+string(text)+`}}]}`))
		}
		a.Events = append(a.Events, []byte(finish))
		document, ok := a.Document()
		if got := gjson.GetBytes(document, "choices.0.message.content").Str; !ok || got != strings.Join(pieces, "") {
			t.Fatalf("got %q of %q", got, pieces)
		}
	})
}

// FuzzAnswer feeds what no server should send: nothing panics, and what comes
// out is JSON.
func FuzzAnswer(f *testing.F) {
	for _, seed := range []string{role, hello, finish, usage, whole, `{"choices":[{"index":-1,"delta":[]}]}`, `{"choices":{"a":{"delta":{"tool_calls":[[],{"index":1e9}]}}}}`, `[]`, `1`} {
		f.Add([]byte(seed), []byte(finish))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		if !json.Valid(first) || !json.Valid(second) {
			return // the gateway passes on nothing else
		}
		if document, ok := (&Answer{Events: [][]byte{first, second}}).Document(); ok && !json.Valid(document) {
			t.Fatalf("a document that is not JSON: %s", document)
		}
		for _, e := range (&Answer{Whole: first}).Stream(true) {
			if !json.Valid(e) {
				t.Fatalf("an event that is not JSON: %s", e)
			}
		}
		r := &Recorder{}
		r.Event(first)
		r.Document(second)
		r.Answer()
	})
}
