package conform

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
)

// orRefused is the end of what is expected of features that a server may not
// have: it is free to refuse them, not to ignore them.
const orRefused = ", or a refusal with 4xx"

var parameterCases = []Case{
	{
		ID: "params/unknown", Title: "unknown members do no harm", Level: Should, Suite: Engine,
		Why: "what is new, or another engine's, must get through", Issue: "maximhq/bifrost#5764",
		Sends: `the plain chat with "x_future":{"a":1}`, Expect: "200",
		needs: whole, try: accepted(members{"x_future": members{"a": 1}}),
	},
	{
		ID: "params/null", Title: "null is as good as absent", Level: Should, Suite: Engine,
		Why:   "typed clients send null for what is not set",
		Sends: "the plain chat with stop, n, top_p, tools and response_format null", Expect: "200",
		needs: whole, try: accepted(members{"stop": nil, "n": nil, "top_p": nil, "tools": nil, "response_format": nil}),
	},
	{
		ID: "params/content-parts", Title: "content may be a list of parts", Level: Must, Suite: Engine,
		Why:   "SDKs and agents send text in parts",
		Sends: `a chat with content [{"type":"text","text":"…"}]`, Expect: "200",
		needs: whole, try: accepted(members{"messages": []members{{"role": "user", "content": []members{{"type": "text", "text": "Hello"}}}}}),
	},
	{
		ID: "params/turns", Title: "a chat may have a system message and several turns", Level: Must, Suite: Engine,
		Why:   "conversations have",
		Sends: "system, user, assistant, user", Expect: "200",
		needs: whole, try: accepted(members{"messages": []members{
			{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"},
			{"role": "assistant", "content": "Hello"}, {"role": "user", "content": "Bye"},
		}}),
	},
	{
		ID: "params/n", Title: "n answers are n choices", Level: Must, Suite: Engine,
		Why:   "who asks for two and gets one has been served something else",
		Sends: "the plain chat with n 2 and temperature 1", Expect: "two choices, index 0 and 1" + orRefused,
		needs: whole, try: severalChoices,
	},
	{
		ID: "params/stop", Title: "a stop string ends the answer before it", Level: Must, Suite: Engine,
		Why:   "agents mark the end of a turn with one",
		Sends: "the plain chat, then the same with a piece of its answer as stop", Expect: "the answer up to that piece, finish_reason stop",
		needs: whole, try: stops,
	},
	{
		ID: "params/seed", Title: "temperature 0 and a seed repeat the answer", Level: Should, Suite: Engine,
		Why:   "tests and evaluations hang on it",
		Sends: "the plain chat again", Expect: "the same text",
		needs: whole, try: repeats,
	},
	{
		ID: "params/logprobs", Title: "logprobs are told when asked", Level: Should, Suite: Engine,
		Why:   "evaluations read them",
		Sends: "the plain chat with logprobs true", Expect: "choices[0].logprobs.content with one entry a token" + orRefused,
		needs: whole, try: logprobs,
	},
	{
		ID: "params/tools", Title: "a tool that must be called is", Level: Should, Suite: Engine,
		Why: "agents are built on it", Issue: "maximhq/bifrost#1829",
		Sends:  `a chat with one function and tool_choice "required"`,
		Expect: "tool_calls with an id, the function's name and arguments in JSON" + orRefused,
		needs:  whole, try: callsTool,
	},
	{
		ID: "params/json", Title: "JSON mode gives JSON", Level: Should, Suite: Engine,
		Why:   "programs parse the answer",
		Sends: `a chat with response_format {"type":"json_object"} and max_tokens 200`, Expect: "content that is a JSON object" + orRefused,
		needs: whole, try: jsonMode,
	},
}

func accepted(change members) try {
	return func(ctx context.Context, p *probe) (string, error) {
		a, err := p.post(ctx, chatPath, p.chat(change))
		if err != nil {
			return "", err
		}
		if a.status != http.StatusOK {
			return "", wrong("%s", a.said())
		}
		return "200", nil
	}
}

// feature asks for what a server may refuse. done is true when it did, or when
// the answer is no answer.
func feature(ctx context.Context, p *probe, path, body string) (a *answer, seen string, done bool, err error) {
	a, err = p.post(ctx, path, body)
	switch {
	case err != nil:
		return nil, "", true, err
	case a.status == http.StatusOK:
		return a, "", false, nil
	case unsupported(a):
		return a, "refused: " + a.said(), true, nil
	}
	return a, "", true, wrong("%s", a.said())
}

func severalChoices(ctx context.Context, p *probe) (string, error) {
	a, seen, done, err := feature(ctx, p, chatPath, p.chat(members{"n": 2, "temperature": 1}))
	if done {
		return seen, err
	}
	indexes := map[int64]bool{}
	choices := a.get("choices").Array()
	for _, c := range choices {
		indexes[c.Get("index").Int()] = true
	}
	if len(choices) != 2 || !indexes[0] || !indexes[1] {
		return "", wrong("%d choices", len(choices))
	}
	return "two choices", nil
}

func content(a *answer) string { return a.get("choices.0.message.content").String() }

func stops(ctx context.Context, p *probe) (string, error) {
	a, err := p.whole(ctx)
	if err != nil {
		return "", err
	}
	text := content(a)
	stop := middle(text)
	if stop == "" {
		return "", skipped("the answer %q is too short to stop in", clip(text, 40))
	}
	before, _, _ := strings.Cut(text, stop)
	cut, err := p.post(ctx, chatPath, p.chat(members{"stop": []string{stop}}))
	if err != nil {
		return "", err
	}
	if cut.status != http.StatusOK {
		return "", wrong("%s", cut.said())
	}
	got := content(cut)
	if strings.TrimSpace(got) != strings.TrimSpace(before) {
		if !strings.HasPrefix(text, got) && !strings.HasPrefix(got, before) {
			return "", skipped("the model does not repeat itself at temperature 0")
		}
		return "", wrong("with stop %q the answer is %q, expected %q", stop, clip(got, 60), clip(before, 60))
	}
	if reason := cut.get("choices.0.finish_reason").String(); reason != "stop" {
		return "", wrong("finish_reason is %q", reason)
	}
	return sprintf("ended before %q", stop), nil
}

// middle is a piece of a text that is in it for the first time there, if possible
// after its first third; empty when there is none. It is ASCII, so that no
// tokenizer cuts it.
func middle(text string) string {
	const size = 4
	for _, from := range []int{len(text) / 3, 1} {
		for at := from; at+size <= len(text); at++ {
			piece := text[at : at+size]
			if isPrintable(piece) && strings.Index(text, piece) == at && strings.TrimSpace(text[:at]) != "" {
				return piece
			}
		}
	}
	return ""
}

func isPrintable(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return strings.TrimSpace(s) == s
}

func repeats(ctx context.Context, p *probe) (string, error) {
	first, err := p.whole(ctx)
	if err != nil {
		return "", err
	}
	again, err := p.post(ctx, chatPath, p.chat(nil))
	if err != nil {
		return "", err
	}
	if content(first) != content(again) {
		return "", wrong("%q, then %q", clip(content(first), 60), clip(content(again), 60))
	}
	return "the same text", nil
}

func logprobs(ctx context.Context, p *probe) (string, error) {
	a, seen, done, err := feature(ctx, p, chatPath, p.chat(members{"logprobs": true}))
	if done {
		return seen, err
	}
	entries := len(a.get("choices.0.logprobs.content").Array())
	if entries == 0 {
		return "", wrong("there are none in choices[0].logprobs.content")
	}
	return sprintf("%d entries", entries), nil
}

func callsTool(ctx context.Context, p *probe) (string, error) {
	tool := members{"type": "function", "function": members{
		"name": "get_weather", "description": "The weather in a city now.",
		"parameters": members{"type": "object", "properties": members{"city": members{"type": "string"}}, "required": []string{"city"}},
	}}
	a, seen, done, err := feature(ctx, p, chatPath, p.chat(members{
		"messages": user("What is the weather in Paris? Call the tool."), "tools": []members{tool}, "tool_choice": "required", "max_tokens": 200,
	}))
	if done {
		return seen, err
	}
	call := a.get("choices.0.message.tool_calls.0")
	if !call.Exists() {
		return "", wrong("no tool_calls, finish_reason %s", a.get("choices.0.finish_reason").String())
	}
	name, arguments := call.Get("function.name").String(), call.Get("function.arguments").String()
	if name != "get_weather" || call.Get("id").String() == "" || !json.Valid([]byte(arguments)) {
		return "", wrong("the call is %s", clip(call.Raw, 120))
	}
	return sprintf("%s(%s)", name, clip(arguments, 60)), nil
}

func jsonMode(ctx context.Context, p *probe) (string, error) {
	a, seen, done, err := feature(ctx, p, chatPath, p.chat(members{
		"messages": user(`Answer with a JSON object with one member "a", the number 1.`), "response_format": members{"type": "json_object"}, "max_tokens": 200,
	}))
	if done {
		return seen, err
	}
	var object map[string]any
	if err := json.Unmarshal([]byte(content(a)), &object); err != nil {
		if a.get("choices.0.finish_reason").String() == "length" && strings.HasPrefix(strings.TrimSpace(content(a)), "{") {
			return "", skipped("the model did not come to the end of its object")
		}
		return "", wrong("content is %q", clip(content(a), 80))
	}
	return clip(content(a), 60), nil
}
