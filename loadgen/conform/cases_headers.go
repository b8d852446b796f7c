package conform

import (
	"context"
	"net/http"
	"strings"
)

var headerCases = []Case{
	{
		ID: "headers/request-id", Title: "an answer has a request id", Level: Should, Suite: Engine,
		Why:   "support asks for it, and logs are found by it",
		Sends: plainSends, Expect: "x-request-id, on streams too",
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.whole(ctx)
			if err != nil {
				return "", err
			}
			if a.header.Get("X-Request-Id") == "" {
				return "", wrong("there is none")
			}
			if s, err := p.stream(ctx); err == nil && s.header.Get("X-Request-Id") == "" {
				return "", wrong("a stream has none")
			}
			return "there is one", nil
		},
	},
	{
		ID: "headers/request-id-kept", Title: "the client's request id comes back", Level: Should, Suite: Engine,
		Why:   "it ties the logs of all hops together",
		Sends: "the plain chat with x-request-id", Expect: "the same id",
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			const id = "conform-7f3a"
			a, err := p.ask(ctx, request{
				method: http.MethodPost, path: chatPath, body: []byte(p.chat(members{"max_tokens": 1})),
				header: http.Header{"X-Request-Id": {id}},
			})
			if err != nil {
				return "", err
			}
			return equal("x-request-id", a.header.Get("X-Request-Id"), id)
		},
	},
	{
		ID: "headers/request-id-on-errors", Title: "a refusal has a request id, too", Level: Should, Suite: Engine,
		Why:   "errors are what one asks support about",
		Sends: "a chat without messages", Expect: "x-request-id",
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.post(ctx, chatPath, p.chat(members{"messages": drop}))
			if err != nil {
				return "", err
			}
			if a.header.Get("X-Request-Id") == "" {
				return "", wrong("there is none with %d", a.status)
			}
			return "there is one", nil
		},
	},
	{
		ID: "headers/hostile-request-id", Title: "a request id of 8 KB is not passed around", Level: Info, Suite: Engine,
		Why:   "it would be in every log line of every hop",
		Sends: "the plain chat with an x-request-id of 8 KB", Expect: "200 with another id, or a refusal",
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			id := strings.Repeat("x", 8<<10)
			a, err := p.ask(ctx, request{
				method: http.MethodPost, path: chatPath, body: []byte(p.chat(members{"max_tokens": 1})),
				header: http.Header{"X-Request-Id": {id}},
			})
			if err != nil {
				return "", err
			}
			if a.header.Get("X-Request-Id") == id {
				return "", wrong("it came back")
			}
			return sprintf("%d", a.status), nil
		},
	},
	{
		ID: "headers/nosniff", Title: "browsers are told to believe the content type", Level: Info, Suite: Engine,
		Why:   "a model's text that looks like HTML must not run as a page",
		Sends: streamSends, Expect: "X-Content-Type-Options: nosniff",
		needs: stream, try: looks(func(s *streamed) (string, error) {
			return equal("X-Content-Type-Options", s.header.Get("X-Content-Type-Options"), "nosniff")
		}),
	},
}

// secretCases look at everything that was answered.
var secretCases = []Case{{
	ID: "secrets/not-repeated", Title: "no answer repeats a key", Level: Must, Suite: Engine,
	Why: "answers end in logs, tickets and caches", Issue: "BerriAI/litellm#30736",
	Sends: "all requests of this run", Expect: "no key in any header or body",
	try: func(_ context.Context, p *probe) (string, error) {
		if len(p.keys()) == 0 {
			return "", skipped("no key is set")
		}
		if len(p.leaks) > 0 {
			return "", wrong("%d answers do, the first to %s", len(p.leaks), p.leaks[0])
		}
		return sprintf("in %d answers", p.sent.Load()), nil
	},
}}
