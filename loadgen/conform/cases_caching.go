package conform

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"
)

var cachingCases = []Case{
	{
		ID: "caching/prefix", Title: "a prompt that is known is reported as cached", Level: Info, Suite: Engine,
		Why: "cached tokens are cheaper, and their count shows that routing works", Issue: "BerriAI/litellm#18728",
		Sends: "a prompt of about 400 words, twice", Expect: "cached_tokens above 0 the second time",
		needs: whole, try: prefixHit,
	},
	{
		ID: "caching/prefix-tenants", Title: "one tenant does not see what another has cached", Level: Must, Suite: Gateway,
		Why: "cached tokens and time to first token tell what others asked", Issue: "GHSA-h9ww-f95j-h54c (llmgateway#3758)",
		Sends: "a prompt of about 400 words with one key, then with the second", Expect: "not more cached_tokens than for a prompt that nobody sent",
		needs: whole, try: tenantsApart,
	},
	{
		ID: "caching/prefix-salt", Title: "cache_salt parts a cache", Level: Info, Suite: Engine,
		Why:   "it is how a client parts its own users",
		Sends: "a prompt of about 400 words with one cache_salt, then with another", Expect: "not more cached_tokens than for a prompt that nobody sent",
		needs: whole, try: saltsApart,
	},
	{
		ID: "caching/answers-tenants", Title: "one tenant does not get another's answer", Level: Must, Suite: Gateway,
		Why: "a cache without the tenant in its key hands out what others were told", Issue: "GHSA-h9ww-f95j-h54c (llmgateway#3758)",
		Sends: "the same chat with both keys", Expect: "another id in the second answer",
		needs: whole, try: answersApart,
	},
	{
		ID: "caching/whole-key", Title: "other parameters are another question", Level: Must, Suite: Gateway,
		Why: "a cache whose key leaves members out answers something else", Issue: "BerriAI/litellm#9844",
		Sends: "a chat, then with another max_tokens, seed, top_p and stop", Expect: "another id each time",
		needs: whole, try: wholeKey,
	},
}

// fresh is a prompt that nobody has sent before, the same for the same name in
// one run.
func (p *probe) fresh(name string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Note %s of %d:", name, p.started.UnixNano())
	for i := range 400 {
		fmt.Fprintf(&b, " %s%d", name, i)
	}
	return b.String()
}

// cached asks with a fresh prompt and returns how much of it was cached: 0 where
// the answer does not tell.
func (p *probe) cached(ctx context.Context, name string, change members, key *string) (int64, error) {
	body := p.chat(members{"messages": user(p.fresh(name)), "max_tokens": 1})
	if change != nil {
		change["messages"], change["max_tokens"] = user(p.fresh(name)), 1
		body = p.chat(change)
	}
	a, err := p.ask(ctx, request{method: http.MethodPost, path: chatPath, body: []byte(body), key: key})
	if err != nil {
		return 0, err
	}
	if a.status != http.StatusOK {
		return 0, skipped("the prompt was answered %s", a.said())
	}
	return a.get("usage.prompt_tokens_details.cached_tokens").Int(), nil
}

func prefixHit(ctx context.Context, p *probe) (string, error) {
	first, err := p.cached(ctx, "p", nil, nil)
	if err != nil {
		return "", err
	}
	second, err := p.cached(ctx, "p", nil, nil)
	if err != nil {
		return "", err
	}
	if second <= first {
		return "", wrong("%d cached tokens, then %d", first, second)
	}
	return sprintf("%d cached tokens, then %d", first, second), nil
}

// noMoreThan compares what a request found cached with what is cached of any
// prompt: the template that all chats begin with.
func noMoreThan(found, usual int64) (string, error) {
	if found > usual {
		return "", wrong("%d tokens are cached, %d of a prompt that nobody sent", found, usual)
	}
	return sprintf("%d tokens, as of a prompt that nobody sent", found), nil
}

func tenantsApart(ctx context.Context, p *probe) (string, error) {
	if p.o.SecondKey == "" {
		return "", skipped("no second key (--second-key-env)")
	}
	second := p.o.SecondKey
	if _, err := p.cached(ctx, "t", nil, nil); err != nil {
		return "", err
	}
	if again, err := p.cached(ctx, "t", nil, nil); err != nil || again == 0 {
		return "", skipped("the endpoint caches no prompts, or does not tell (caching/prefix)")
	}
	if _, err := p.cached(ctx, "u", nil, &second); err != nil { // the template, for this tenant
		return "", err
	}
	usual, err := p.cached(ctx, "v", nil, &second)
	if err != nil {
		return "", err
	}
	found, err := p.cached(ctx, "t", nil, &second)
	if err != nil {
		return "", err
	}
	return noMoreThan(found, usual)
}

func saltsApart(ctx context.Context, p *probe) (string, error) {
	salt := func(s string) members { return members{"cache_salt": s} }
	if _, err := p.cached(ctx, "s", salt("one"), nil); err != nil {
		return "", err
	}
	if again, err := p.cached(ctx, "s", salt("one"), nil); err != nil || again == 0 {
		return "", skipped("the endpoint caches no prompts, or does not tell (caching/prefix)")
	}
	if _, err := p.cached(ctx, "w", salt("two"), nil); err != nil {
		return "", err
	}
	usual, err := p.cached(ctx, "x", salt("two"), nil)
	if err != nil {
		return "", err
	}
	found, err := p.cached(ctx, "s", salt("two"), nil)
	if err != nil {
		return "", err
	}
	return noMoreThan(found, usual)
}

// answersApart compares ids: an answer from a cache has that of the first.
func answersApart(ctx context.Context, p *probe) (string, error) {
	if p.o.SecondKey == "" {
		return "", skipped("no second key (--second-key-env)")
	}
	body := p.chat(members{"messages": user(sprintf("Say something about the number %d.", p.started.UnixNano()))})
	first, err := p.post(ctx, chatPath, body)
	if err != nil {
		return "", err
	}
	key := p.o.SecondKey
	second, err := p.ask(ctx, request{method: http.MethodPost, path: chatPath, body: []byte(body), key: &key})
	if err != nil {
		return "", err
	}
	if first.status != http.StatusOK || second.status != http.StatusOK {
		return "", skipped("they were answered %s and %s", first.said(), second.said())
	}
	if id := first.get("id").String(); id != "" && id == second.get("id").String() {
		return "", wrong("both answers have id %s", id)
	}
	return "two ids", nil
}

func wholeKey(ctx context.Context, p *probe) (string, error) {
	seen := map[string]bool{}
	text := user(sprintf("Say something about the number %d.", p.started.UnixNano()+int64(time.Hour)))
	for _, change := range []members{{}, {"max_tokens": 5}, {"seed": 7}, {"top_p": 0.5}, {"stop": "zebra"}} {
		change["messages"] = text
		a, err := p.post(ctx, chatPath, p.chat(change))
		if err != nil {
			return "", err
		}
		if a.status != http.StatusOK {
			continue
		}
		id := a.get("id").String()
		if seen[id] {
			return "", wrong("another request got the answer %s again", id)
		}
		seen[id] = true
	}
	return sprintf("%d requests, as many ids", len(seen)), nil
}
