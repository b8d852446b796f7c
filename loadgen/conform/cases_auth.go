package conform

import (
	"context"
	"net/http"
	"strings"
)

var authCases = []Case{
	{
		ID: "auth/missing", Title: "a request without a key is refused", Level: Must, Suite: Engine,
		Why:   "else the key protects nothing",
		Sends: "the plain chat without an Authorization header", Expect: "401 with an error in JSON",
		try: withoutKey(http.Header{}),
	},
	{
		ID: "auth/wrong", Title: "a wrong key is refused", Level: Must, Suite: Engine,
		Why:   "else the key protects nothing",
		Sends: "the plain chat with a key that nobody has", Expect: "401 with an error in JSON",
		try: withoutKey(http.Header{"Authorization": {"Bearer " + wrongKey}}),
	},
	{
		ID: "auth/garbled", Title: "garbled credentials are refused", Level: Must, Suite: Engine,
		Why: "code that takes the header apart panics on them", Issue: "envoyproxy/ai-gateway#2053",
		Sends:  `the plain chat with "bearer", "Bearer ", "Basic x", "" and a key of 10 KB`,
		Expect: "401 with an error in JSON (431 and 400 are taken for 10 KB)",
		try:    garbledKeys,
	},
	{
		ID: "auth/two-headers", Title: "two keys are refused", Level: Should, Suite: Engine,
		Why: "which of them counts differs from hop to hop", Issue: "envoyproxy/ai-gateway#2053",
		Sends: "the plain chat with two Authorization headers, the first a wrong one, and the other way round", Expect: "401 or 400 in both orders",
		try: twoKeys,
	},
	{
		ID: "auth/not-quoted", Title: "a refused key is not repeated", Level: Must, Suite: Engine,
		Why: "error texts end in logs and tickets", Issue: "BerriAI/litellm#30736",
		Sends: "the plain chat with a key that nobody has", Expect: "the key is nowhere in the answer",
		try: func(ctx context.Context, p *probe) (string, error) {
			if p.o.Key == "" {
				return "", skipped("no key is set")
			}
			key := wrongKey
			a, err := p.ask(ctx, request{method: http.MethodPost, path: chatPath, body: []byte(p.chat(nil)), key: &key})
			if err != nil {
				return "", err
			}
			if strings.Contains(string(a.body), wrongKey) {
				return "", wrong("%s", a.said())
			}
			return a.said(), nil
		},
	},
}

const wrongKey = "sk-conform-0123456789-nobody-has-this-key"

// withoutKey sends a chat with other credentials than the run's.
func withoutKey(header http.Header) try {
	return func(ctx context.Context, p *probe) (string, error) {
		a, err := p.stranger(ctx, header)
		if err != nil {
			return "", err
		}
		return refusal(a, http.StatusUnauthorized)
	}
}

// stranger sends the plain chat with the header's credentials.
func (p *probe) stranger(ctx context.Context, header http.Header) (*answer, error) {
	if p.o.Key == "" {
		return nil, skipped("no key is set (OPENAI_API_KEY), so the endpoint may be open")
	}
	none := ""
	return p.ask(ctx, request{method: http.MethodPost, path: chatPath, body: []byte(p.chat(members{"max_tokens": 1})), header: header, key: &none})
}

func garbledKeys(ctx context.Context, p *probe) (string, error) {
	for _, value := range []string{"bearer", "Bearer ", "Basic x", "", "Bearer " + strings.Repeat("x", 10<<10)} {
		a, err := p.stranger(ctx, http.Header{"Authorization": {value}})
		if err != nil {
			return "", err
		}
		if len(value) > 1<<10 && (a.status == http.StatusRequestHeaderFieldsTooLarge || a.status == http.StatusBadRequest) {
			continue // an HTTP server may bound headers before anybody looks at them
		}
		if _, err := refusal(a, http.StatusUnauthorized); err != nil {
			return "", wrong("%q: %v", clip(value, 20), err)
		}
	}
	return "401 for each", nil
}

func twoKeys(ctx context.Context, p *probe) (string, error) {
	right, other := "Bearer "+p.o.Key, "Bearer "+wrongKey
	for _, order := range [][]string{{other, right}, {right, other}} {
		a, err := p.stranger(ctx, http.Header{"Authorization": order})
		if err != nil {
			return "", err
		}
		if a.status != http.StatusUnauthorized && a.status != http.StatusBadRequest {
			which := "wrong one first"
			if order[0] == right {
				which = "wrong one last"
			}
			return "", wrong("%s: %s", which, a.said())
		}
	}
	return "refused in both orders", nil
}
