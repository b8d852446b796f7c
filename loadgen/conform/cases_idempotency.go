package conform

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync"
)

// The rules are those of the IETF's draft-ietf-httpapi-idempotency-key-header:
// 409 while the first request runs, 422 for another payload under the same key.
var idempotencyCases = []Case{
	{
		ID: "idempotency/replay", Title: "a request with a known Idempotency-Key is not made twice", Level: Should, Suite: Gateway,
		Why:   "a client that retries after a time-out must not pay twice",
		Sends: "the same chat twice with one Idempotency-Key", Expect: "the same status and body, byte for byte",
		needs: whole, try: replays,
	},
	{
		ID: "idempotency/conflict", Title: "another request under the same key is refused", Level: Should, Suite: Gateway,
		Why:   "it would get the answer to another question",
		Sends: "another chat with that Idempotency-Key", Expect: "422; not 409, which SDKs send again",
		needs: whole, try: conflicts,
	},
	{
		ID: "idempotency/in-progress", Title: "the second of two at once waits or is sent back", Level: Should, Suite: Gateway,
		Why:   "two that run are two that are paid for",
		Sends: "the same long chat twice at once with one Idempotency-Key", Expect: "one answer, and the same again or 409 with Retry-After",
		needs: whole, try: inProgress,
	},
	{
		ID: "idempotency/tenants", Title: "an Idempotency-Key is its tenant's own", Level: Must, Suite: Gateway,
		Why:   "a guessed key would read another's answer",
		Sends: "the same chat with one Idempotency-Key and both keys", Expect: "two answers with ids of their own",
		needs: whole, try: idempotencyApart,
	},
}

// idempotent sends a chat under an Idempotency-Key.
func (p *probe) idempotent(ctx context.Context, name, body string, key *string) (*answer, error) {
	return p.ask(ctx, request{
		method: http.MethodPost, path: chatPath, body: []byte(body), key: key,
		header: http.Header{"Idempotency-Key": {"conform-" + name + "-" + strconv.FormatInt(p.started.UnixNano(), 36)}},
	})
}

func replays(ctx context.Context, p *probe) (string, error) {
	same, seen, err := p.replays(ctx)
	if err != nil {
		return "", err
	}
	if !same {
		return "", wrong("%s", seen)
	}
	return seen, nil
}

// replays reports whether the endpoint knows Idempotency-Keys, asked once.
func (p *probe) replays(ctx context.Context) (same bool, seen string, err error) {
	pair, err := p.replayed.get(func() ([2]*answer, error) {
		var pair [2]*answer
		for i := range pair {
			a, err := p.idempotent(ctx, "replay", p.chat(members{"temperature": 1, "seed": drop}), nil)
			if err := well(a, err); err != nil {
				return pair, err
			}
			pair[i] = a
		}
		return pair, nil
	})
	if err != nil {
		return false, "", err
	}
	first, second := pair[0], pair[1]
	if bytes.Equal(first.body, second.body) {
		return true, sprintf("the same %d bytes, Idempotent-Replayed: %q", len(first.body), second.header.Get("Idempotent-Replayed")), nil
	}
	return false, sprintf("two answers, %s and %s", first.get("id"), second.get("id")), nil
}

// known skips a case where the endpoint does not know Idempotency-Keys at all.
func (p *probe) known(ctx context.Context) error {
	if same, _, err := p.replays(ctx); err != nil || !same {
		return skipped("the endpoint does not know Idempotency-Key (idempotency/replay)")
	}
	return nil
}

func conflicts(ctx context.Context, p *probe) (string, error) {
	if err := p.known(ctx); err != nil {
		return "", err
	}
	a, err := p.idempotent(ctx, "replay", p.chat(members{"temperature": 1, "max_tokens": 3}), nil)
	if err != nil {
		return "", err
	}
	return refusal(a, http.StatusUnprocessableEntity)
}

func inProgress(ctx context.Context, p *probe) (string, error) {
	if err := p.known(ctx); err != nil {
		return "", err
	}
	var (
		wg      sync.WaitGroup
		answers [2]*answer
		errs    [2]error
	)
	body := p.chat(members{"max_tokens": p.fits(256)})
	for i := range answers {
		wg.Go(func() { answers[i], errs[i] = p.idempotent(ctx, "at-once", body, nil) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return "", err
		}
	}
	a, b := answers[0], answers[1]
	if a.status != http.StatusOK {
		a, b = b, a
	}
	switch {
	case a.status != http.StatusOK:
		return "", wrong("%s and %s", a.said(), b.said())
	case b.status == http.StatusOK && bytes.Equal(a.body, b.body):
		return "the same answer twice", nil
	case b.status == http.StatusConflict && b.header.Get("Retry-After") != "":
		return "409, Retry-After: " + b.header.Get("Retry-After"), nil
	case b.status == http.StatusConflict:
		return "", wrong("409 without Retry-After")
	}
	return "", wrong("both were made: %s and %s", a.get("id"), b.said())
}

func idempotencyApart(ctx context.Context, p *probe) (string, error) {
	if p.o.SecondKey == "" {
		return "", skipped("no second key (--second-key-env)")
	}
	body := p.chat(members{"temperature": 1, "seed": drop})
	first, err := p.idempotent(ctx, "tenants", body, nil)
	if err := well(first, err); err != nil {
		return "", err
	}
	second, err := p.idempotent(ctx, "tenants", body, &p.o.SecondKey)
	if err := well(second, err); err != nil {
		return "", err
	}
	if id := first.get("id").String(); id == second.get("id").String() {
		return "", wrong("both got the answer %s", id)
	}
	return "two answers", nil
}
