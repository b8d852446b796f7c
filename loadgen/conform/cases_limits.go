package conform

import (
	"cmp"
	"context"
	"net/http"
	"regexp"
	"strconv"
	"strings"
)

// mostToLimit is how many requests are sent to reach a limit.
const mostToLimit = 40

var limitCases = []Case{
	{
		ID: "limits/headers", Title: "answers tell what is left of a limit", Level: Should, Suite: Gateway,
		Why: "clients slow down before they are stopped", Issue: "agentgateway/agentgateway#2661",
		Sends: "a chat with the limited key", Expect: "x-ratelimit-limit-requests and x-ratelimit-remaining-requests on a 200",
		needs: whole, try: limitHeaders,
	},
	{
		ID: "limits/429", Title: "a limit of requests stops with 429", Level: Must, Suite: Gateway,
		Why: "a limit that lets everything pass is none", Issue: "BerriAI/litellm#18730",
		Sends: "up to 40 chats with the limited key", Expect: "429 with an error in JSON",
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.atLimit(ctx)
			if err != nil {
				return "", err
			}
			return refusal(a, http.StatusTooManyRequests)
		},
	},
	{
		ID: "limits/code", Title: "its code is rate_limit_exceeded", Level: Should, Suite: Gateway,
		Why:   "clients tell a limit from a budget by it",
		Sends: "the same", Expect: `code "rate_limit_exceeded"`,
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.atLimit(ctx)
			if err != nil {
				return "", err
			}
			return equal("code", a.get("error.code").String(), "rate_limit_exceeded")
		},
	},
	{
		ID: "limits/retry-after", Title: "429 says when to come again", Level: Must, Suite: Gateway,
		Why: "without it, or with 0, SDKs come again at once", Issue: "BerriAI/litellm#27823",
		Sends: "the same", Expect: "Retry-After, a whole number of at least 1 and at most 60",
		needs: whole, try: retryAfter,
	},
	{
		ID: "limits/429-headers", Title: "429 tells the limit, too", Level: Should, Suite: Gateway,
		Why: "it is when clients look", Issue: "agentgateway/agentgateway#2661",
		Sends: "the same", Expect: "x-ratelimit-limit-requests, x-ratelimit-remaining-requests 0 and x-ratelimit-reset-requests as a duration such as 6s",
		needs: whole, try: limitHeadersAtLimit,
	},
	{
		ID: "limits/apart", Title: "one key's limit is not another's", Level: Must, Suite: Gateway,
		Why:   "one tenant could stop all others",
		Sends: "a chat with the main key after the limited one was stopped", Expect: "200",
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			if _, err := p.atLimit(ctx); err != nil {
				return "", err
			}
			if err := well(p.one(ctx, nil)); err != nil {
				return "", err
			}
			return "200", nil
		},
	},
	{
		ID: "limits/other-paths", Title: "a spent key is spent on every path", Level: Must, Suite: Gateway,
		Why: "a limit that one path goes around is none", Issue: "maximhq/bifrost#2873",
		Sends:  "chats with the limited key until it is stopped, then a completion and embeddings, each again when it is answered, up to three times",
		Expect: "each path stops the key at least once with 429, but those that refuse the main key, too",
		needs:  whole, try: stopsEverywhere,
	},
}

func (p *probe) limited(ctx context.Context) (*answer, error) {
	if p.o.LimitedKey == "" {
		return nil, skipped("no limited key (--limited-key-env)")
	}
	return p.one(ctx, &p.o.LimitedKey)
}

func limitHeaders(ctx context.Context, p *probe) (string, error) {
	a, err := p.limited(ctx)
	if err := well(a, err); err != nil {
		return "", err
	}
	limit, left := a.header.Get("X-Ratelimit-Limit-Requests"), a.header.Get("X-Ratelimit-Remaining-Requests")
	if limit == "" || left == "" {
		return "", wrong("limit %q, remaining %q", limit, left)
	}
	return sprintf("limit %s, remaining %s", limit, left), nil
}

// atLimit is the first answer that the limited key's limit stopped, asked for
// once.
func (p *probe) atLimit(ctx context.Context) (*answer, error) {
	return p.stopped.get(func() (*answer, error) {
		for range mostToLimit {
			a, err := p.limited(ctx)
			if err != nil {
				return nil, err
			}
			if a.status != http.StatusOK {
				return a, nil
			}
		}
		return nil, wrong("%d requests were answered: does the key have a limit below that?", mostToLimit)
	})
}

func retryAfter(ctx context.Context, p *probe) (string, error) {
	a, err := p.atLimit(ctx)
	if err != nil {
		return "", err
	}
	text := a.header.Get("Retry-After")
	seconds, err := strconv.Atoi(text)
	if err != nil || seconds < 1 || seconds > 60 {
		return "", wrong("Retry-After is %q", text)
	}
	return text, nil
}

// goDuration is how OpenAI writes the time until a limit is reset.
var goDuration = regexp.MustCompile(`^(\d+(\.\d+)?(h|ms|m|s))+$`)

func limitHeadersAtLimit(ctx context.Context, p *probe) (string, error) {
	a, err := p.atLimit(ctx)
	if err != nil {
		return "", err
	}
	limit, left, reset := a.header.Get("X-Ratelimit-Limit-Requests"), a.header.Get("X-Ratelimit-Remaining-Requests"), a.header.Get("X-Ratelimit-Reset-Requests")
	seen := sprintf("limit %q, remaining %q, reset %q", limit, left, reset)
	if limit == "" || left != "0" || !goDuration.MatchString(reset) {
		return "", wrong("%s", seen)
	}
	return seen, nil
}

// stopsEverywhere tries a spent key on other paths. A limit that refills may let
// one request pass, but not three with chats between them.
func stopsEverywhere(ctx context.Context, p *probe) (string, error) {
	if p.o.LimitedKey == "" {
		return "", skipped("no limited key (--limited-key-env)")
	}
	var stopped []string
	for _, at := range p.otherPaths() {
		a, err := p.ask(ctx, at)
		if err != nil {
			return "", err
		}
		if a.status != http.StatusOK {
			continue // a path that nobody can take
		}
		if err := p.stopsAt(ctx, at); err != nil {
			return "", err
		}
		stopped = append(stopped, at.path)
	}
	if len(stopped) == 0 {
		return "", skipped("the endpoint has no other path")
	}
	return "429 for " + strings.Join(stopped, " and "), nil
}

// otherPaths are requests that take other ways through a gateway than chats.
func (p *probe) otherPaths() []request {
	return []request{
		{method: http.MethodPost, path: completionsPath, body: []byte(encode(members{"model": p.model, "prompt": "one two", "max_tokens": 1}))},
		{method: http.MethodPost, path: embeddingsPath, body: []byte(encode(members{"model": cmp.Or(p.o.EmbeddingModel, p.model), "input": "one"}))},
	}
}

// stopsAt expects a request with the limited key to be stopped once that is spent.
func (p *probe) stopsAt(ctx context.Context, at request) error {
	at.key = &p.o.LimitedKey
	const tries = 3
	for range tries {
		if err := p.spend(ctx); err != nil {
			return err
		}
		a, err := p.ask(ctx, at)
		switch {
		case err != nil:
			return err
		case a.status == http.StatusTooManyRequests:
			return nil
		case a.status != http.StatusOK:
			return wrong("POST %s with a spent key was answered %s", at.path, a.said())
		}
	}
	return wrong("POST %s with a spent key was answered %d times of %d", at.path, tries, tries)
}

// spend sends chats with the limited key until it is stopped.
func (p *probe) spend(ctx context.Context) error {
	for range mostToLimit {
		a, err := p.limited(ctx)
		switch {
		case err != nil:
			return err
		case a.status == http.StatusTooManyRequests:
			return nil
		case a.status != http.StatusOK:
			return skipped("a chat with the limited key was answered %s", a.said())
		}
	}
	return skipped("the limited key was not stopped (limits/429)")
}
