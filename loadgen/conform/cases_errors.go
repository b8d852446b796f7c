package conform

import (
	"context"
	"net/http"
	"strings"
)

var errorCases = []Case{
	{
		ID: "errors/malformed", Title: "a body that is no JSON is refused", Level: Must, Suite: Engine,
		Why: "parsers that panic take the server down", Issue: "envoyproxy/ai-gateway#1864",
		Sends: `POST /v1/chat/completions with "{", and with nothing`, Expect: "400 with an error in JSON",
		try: refuses(badRequest, func(*probe) []variant { return []variant{{"half an object", "{"}, {"nothing", ""}} }),
	},
	{
		ID: "errors/not-an-object", Title: "a body that is no object is refused", Level: Must, Suite: Engine,
		Why: "null and lists are valid JSON, and crash what expects members", Issue: "envoyproxy/ai-gateway#1864",
		Sends: `null, [], "x" and 1`, Expect: "400 with an error in JSON",
		try: refuses(badRequest, func(*probe) []variant {
			return []variant{{"null", "null"}, {"a list", "[]"}, {"a string", `"x"`}, {"a number", "1"}}
		}),
	},
	{
		ID: "errors/wrong-types", Title: "members of a wrong type are refused", Level: Must, Suite: Engine,
		Why: "a member that is ignored is a request that was not answered", Issue: "envoyproxy/ai-gateway#1864",
		Sends: `chats with model 1, messages "hi" and max_tokens "ten"`, Expect: "400 (422 is taken too) with an error in JSON",
		try: refuses(badRequest, func(p *probe) []variant {
			return []variant{
				{"model 1", p.chat(members{"model": 1})},
				{`messages "hi"`, p.chat(members{"messages": "hi"})},
				{`max_tokens "ten"`, p.chat(members{"max_tokens": "ten"})},
			}
		}),
	},
	{
		ID: "errors/no-messages", Title: "a chat without messages is refused", Level: Must, Suite: Engine,
		Why:   "there is nothing to answer",
		Sends: "a chat without messages", Expect: "400 with an error in JSON",
		try: refuses(badRequest, changed("no messages", members{"messages": drop})),
	},
	{
		ID: "errors/negative-max-tokens", Title: "a negative max_tokens is refused", Level: Must, Suite: Engine,
		Why:   "servers that take it as no limit run on for nobody's benefit, and limits count it as a credit",
		Sends: "a chat with max_tokens -5", Expect: "400 with an error in JSON",
		try: refuses(badRequest, changed("max_tokens -5", members{"max_tokens": -5})),
	},
	{
		ID: "errors/temperature", Title: "a temperature out of range is refused", Level: Should, Suite: Engine,
		Why:   "it is a mistake of the caller's that he wants to hear of",
		Sends: "a chat with temperature -1", Expect: "400 with an error in JSON",
		try: refuses(badRequest, changed("temperature -1", members{"temperature": -1})),
	},
	{
		ID: "errors/unknown-model", Title: "an unknown model is refused with 404", Level: Must, Suite: Engine,
		Why: "another model's answer would be taken for this one's", Issue: "BerriAI/litellm#39136",
		Sends: "a chat with a model that is not listed", Expect: "404 with an error in JSON",
		try: refuses([]int{http.StatusNotFound}, changed("an unknown model", members{"model": noModel})),
	},
	{
		ID: "errors/unknown-model-code", Title: "its code is model_not_found", Level: Should, Suite: Engine,
		Why:   "SDK users tell errors apart by code",
		Sends: "a chat with a model that is not listed", Expect: `code "model_not_found"`,
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.post(ctx, chatPath, p.chat(members{"model": noModel}))
			if err != nil {
				return "", err
			}
			return equal("code", a.get("error.code").String(), "model_not_found")
		},
	},
	{
		ID: "errors/before-stream", Title: "a stream that is refused has a status, not events", Level: Must, Suite: Engine,
		Why: "retries and fallbacks look at the status", Issue: "maximhq/bifrost#5395",
		Sends: "streamed chats with a model that is not listed, and without messages", Expect: "4xx with an error in JSON; one that is answered is another case's",
		try: refusedBeforeStream,
	},
	{
		ID: "errors/shape", Title: "an error is an object with message and type", Level: Must, Suite: Engine,
		Why:   "SDKs show error.message",
		Sends: "a chat without messages, and one with an unknown model", Expect: `{"error":{"message":"…","type":"…",…}}`,
		try: func(ctx context.Context, p *probe) (string, error) { return errorShape(ctx, p, "message", "type") },
	},
	{
		ID: "errors/all-fields", Title: "an error has param and code, too", Level: Should, Suite: Engine,
		Why:   "the API's schema asks for all four, null where there is nothing to say",
		Sends: "a chat without messages, and one with an unknown model", Expect: "message, type, param and code",
		try: func(ctx context.Context, p *probe) (string, error) {
			return errorShape(ctx, p, "message", "type", "param", "code")
		},
	},
	{
		ID: "errors/method", Title: "a wrong method is refused", Level: Must, Suite: Engine,
		Why:   "a page of HTML or an empty 200 hides a misspelt call",
		Sends: "GET /v1/chat/completions", Expect: "405 or 404 with an error in JSON",
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.ask(ctx, request{path: chatPath})
			if err != nil {
				return "", err
			}
			return refusal(a, http.StatusMethodNotAllowed, http.StatusNotFound)
		},
	},
	{
		ID: "errors/allow", Title: "405 says which methods are right", Level: Should, Suite: Engine,
		Why:   "RFC 9110, 15.5.6 asks for it",
		Sends: "GET /v1/chat/completions", Expect: "405 with Allow: POST",
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.ask(ctx, request{path: chatPath})
			if err != nil {
				return "", err
			}
			if a.status != http.StatusMethodNotAllowed || !strings.Contains(a.header.Get("Allow"), "POST") {
				return "", wrong("%d, Allow: %q", a.status, a.header.Get("Allow"))
			}
			return "405, Allow: " + a.header.Get("Allow"), nil
		},
	},
	{
		ID: "errors/path", Title: "an unknown path is refused with JSON", Level: Should, Suite: Engine,
		Why: "SDKs decode every answer as JSON", Issue: "lightseekorg/smg#1857",
		Sends: "GET /v1/no-such-path", Expect: "404 with an error in JSON",
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.ask(ctx, request{path: "/v1/no-such-path"})
			if err != nil {
				return "", err
			}
			return refusal(a, http.StatusNotFound)
		},
	},
	{
		ID: "errors/nesting", Title: "a body of 100,000 levels is refused", Level: Must, Suite: Engine,
		Why:   "recursive parsers overflow their stack: one request ends the process",
		Sends: "a chat with 100,000 nested lists, then GET /v1/models", Expect: "4xx, and the server lives on",
		try: deepNesting,
	},
	{
		ID: "errors/context-length", Title: "a prompt beyond the window is refused", Level: Must, Suite: Engine,
		Why:   "a prompt that is cut without a word gets an answer to another question",
		Sends: "a chat with as many words as the window has tokens", Expect: "400 with an error in JSON",
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.tooLong(ctx)
			if err != nil {
				return "", err
			}
			return refusal(a, http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity)
		},
	},
	{
		ID: "errors/context-length-code", Title: "its code is context_length_exceeded", Level: Should, Suite: Engine,
		Why:   "agents shorten their history when they see it",
		Sends: "a chat with as many words as the window has tokens", Expect: `code "context_length_exceeded"`,
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.tooLong(ctx)
			if err != nil {
				return "", err
			}
			return equal("code", a.get("error.code").String(), "context_length_exceeded")
		},
	},
	{
		ID: "errors/stream-options", Title: "stream_options without stream do no harm", Level: Should, Suite: Engine,
		Why: "gateways that add them break servers that refuse them", Issue: "BerriAI/litellm#35290",
		Sends: "the plain chat with stream_options and no stream", Expect: "400, as OpenAI answers, or a whole answer",
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.post(ctx, chatPath, p.chat(members{"stream_options": members{"include_usage": true}}))
			if err != nil {
				return "", err
			}
			if a.status == http.StatusOK && a.mediaType() == jsonType {
				return "a whole answer", nil
			}
			return refusal(a, badRequest...)
		},
	},
}

// refusedBeforeStream looks at streams that a server refuses. One that it answers, as
// servers of a single model do whatever its name, it was right not to refuse here.
func refusedBeforeStream(ctx context.Context, p *probe) (string, error) {
	var seen []string
	for _, change := range []members{{"model": noModel, "stream": true}, {"messages": drop, "stream": true}} {
		s, err := p.streamed(ctx, p.chat(change))
		if err != nil {
			return "", err
		}
		if s.status == http.StatusOK && s.outputs() > 0 && s.complete() == nil {
			continue
		}
		said, err := refusal(&s.answer)
		if err != nil {
			return "", err
		}
		seen = append(seen, said)
	}
	if len(seen) == 0 {
		return "", skipped("neither was refused (errors/unknown-model, errors/no-messages)")
	}
	return strings.Join(seen, ", "), nil
}

// noModel is a name that no server has.
const noModel = "llmctl-conform-no-such-model"

func errorShape(ctx context.Context, p *probe, fields ...string) (string, error) {
	for _, body := range []string{p.chat(members{"messages": drop}), p.chat(members{"model": noModel})} {
		a, err := p.post(ctx, chatPath, body)
		if err != nil {
			return "", err
		}
		if a.status < 400 {
			continue // that it was not refused is another case's
		}
		for _, field := range fields {
			if !a.get("error." + field).Exists() {
				return "", wrong("error.%s is missing in %d %s", field, a.status, clip(string(a.body), 120))
			}
		}
	}
	return strings.Join(fields, ", "), nil
}

func deepNesting(ctx context.Context, p *probe) (string, error) {
	const levels = 100_000
	body := `{"model":` + encode(p.model) + `,"max_tokens":1,"messages":` + strings.Repeat("[", levels) + strings.Repeat("]", levels) + "}"
	a, err := p.post(ctx, chatPath, body)
	if err != nil {
		return "", err
	}
	if a.status < 400 || a.status >= 500 {
		return "", wrong("%s", a.said())
	}
	after, err := p.ask(ctx, request{path: "/v1/models"})
	if err != nil {
		return "", wrong("after it: %v", err)
	}
	if after.status >= 500 {
		return "", wrong("after it: %s", after.said())
	}
	return a.said(), nil
}

// tooLong asks with a prompt that has no room in the window.
func (p *probe) tooLong(ctx context.Context) (*answer, error) {
	const most = 1 << 20
	if p.window == 0 || p.window > most {
		return nil, skipped("the model's window is not known (--context says it), or over %d tokens", most)
	}
	// A word and the space before it are at least one token in any vocabulary that
	// splits at spaces.
	return p.post(ctx, chatPath, p.chat(members{"max_tokens": 1, "messages": user(strings.Repeat("word ", p.window))}))
}
