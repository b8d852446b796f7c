package conform

import (
	"context"
	"net/http"

	"github.com/tidwall/gjson"
)

const usageSends = "the plain stream with stream_options.include_usage true"

var usageCases = []Case{
	{
		ID: "usage/whole", Title: "the counts of an answer add up", Level: Must, Suite: Engine,
		Why:   "bills, limits and reports are made from them",
		Sends: plainSends, Expect: "0 < prompt_tokens, 0 < completion_tokens ≤ 32, total_tokens their sum",
		needs: whole, try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.whole(ctx)
			if err != nil {
				return "", err
			}
			return addsUp(a.get("usage"))
		},
	},
	{
		ID: "usage/cached", Title: "no more tokens are cached than there are", Level: Must, Suite: Engine,
		Why: "cached tokens have another price, so a wrong count is a wrong bill", Issue: "BerriAI/litellm#18728",
		Sends: plainSends, Expect: "prompt_tokens_details.cached_tokens, where it is, from 0 to prompt_tokens",
		needs: whole, try: cachedWithin,
	},
	{
		ID: "usage/stream", Title: "a stream tells its usage when asked", Level: Must, Suite: Engine,
		Why: "metering of streams hangs on it", Issue: "BerriAI/litellm#41610",
		Sends: usageSends, Expect: "one chunk with choices [] and usage, after finish_reason and before [DONE]",
		needs: stream, try: usageChunk,
	},
	{
		ID: "usage/stream-counts", Title: "the counts of a stream add up", Level: Must, Suite: Engine,
		Why:   "bills, limits and reports are made from them",
		Sends: usageSends, Expect: "as in usage/whole",
		needs: stream, try: func(ctx context.Context, p *probe) (string, error) {
			s, err := p.streamWithUsage(ctx)
			if err != nil {
				return "", skipped("no stream with usage to look at (usage/stream)")
			}
			if !s.usage().Exists() {
				return "", skipped("the stream has no usage (usage/stream)")
			}
			return addsUp(s.usage())
		},
	},
	{
		ID: "usage/same", Title: "a stream counts as a whole answer does", Level: Must, Suite: Engine,
		Why: "a stream must not cost another price", Issue: "BerriAI/litellm#41610",
		Sends: usageSends + "; the plain chat", Expect: "the same prompt_tokens, and for the same text the same completion_tokens",
		needs: whole, try: sameUsage,
	},
	{
		ID: "usage/not-asked", Title: "no usage chunk comes unasked", Level: Must, Suite: Engine,
		Why: "clients that read choices[0] of every chunk fail on it", Issue: "headroom#2026",
		Sends: "the plain stream with stream_options.include_usage false", Expect: "no chunk with empty choices",
		needs: stream, try: noUsageChunk,
	},
	{
		ID: "usage/null-until-end", Title: "chunks before the last have no counts", Level: Should, Suite: Engine,
		Why:   "clients that add up the usage of all chunks count twice",
		Sends: usageSends, Expect: "usage null or absent in all chunks but the last",
		needs: stream, try: func(ctx context.Context, p *probe) (string, error) {
			s, err := p.streamWithUsage(ctx)
			if err != nil {
				return "", skipped("no stream with usage to look at (usage/stream)")
			}
			early := 0
			for e := range s.chunks {
				if e.output && e.get("usage").IsObject() {
					early++
				}
			}
			if early > 0 {
				return "", wrong("%d chunks with output have usage", early)
			}
			return "null or absent", nil
		},
	},
	{
		ID: "usage/continuous", Title: "continuous usage is told when asked", Level: Info, Suite: Engine,
		Why:   "with it a load tool knows the tokens of each chunk, and a gateway those of a stream that was left",
		Sends: usageSends + " and continuous_usage_stats true", Expect: "completion_tokens in every chunk with output, never falling",
		needs: stream, try: continuousUsage,
	},
}

func addsUp(u gjson.Result) (string, error) {
	prompt, completion, total := u.Get("prompt_tokens").Int(), u.Get("completion_tokens").Int(), u.Get("total_tokens").Int()
	if prompt <= 0 || completion <= 0 || completion > plainTokens || total != prompt+completion {
		return "", wrong("%d + %d = %d (max_tokens %d)", prompt, completion, total, plainTokens)
	}
	return sprintf("%d + %d = %d", prompt, completion, total), nil
}

func cachedWithin(ctx context.Context, p *probe) (string, error) {
	a, err := p.whole(ctx)
	if err != nil {
		return "", err
	}
	cached := a.get("usage.prompt_tokens_details.cached_tokens")
	if !cached.Exists() {
		return "", skipped("the answer does not tell cached tokens")
	}
	if prompt := a.get("usage.prompt_tokens").Int(); cached.Int() < 0 || cached.Int() > prompt {
		return "", wrong("%d cached of %d", cached.Int(), prompt)
	}
	return sprintf("%d cached of %d", cached.Int(), a.get("usage.prompt_tokens").Int()), nil
}

// finishing reports whether a chunk has a finish_reason.
func finishing(e *event) bool { return e.get("choices.0.finish_reason").String() != "" }

func usageChunk(ctx context.Context, p *probe) (string, error) {
	s, err := p.streamWithUsage(ctx)
	if err != nil {
		return "", err
	}
	if err := s.complete(); err != nil {
		return "", err
	}
	chunks, early := 0, false
	for e := range s.chunks {
		if !e.get("usage").IsObject() || len(e.get("choices").Array()) > 0 {
			early = early || chunks > 0 && finishing(e)
			continue
		}
		chunks++
		if !e.get("choices").IsArray() {
			return "", wrong("the chunk with usage has no choices member, expected []")
		}
	}
	switch {
	case chunks != 1:
		return "", wrong("%d chunks have usage and no choices", chunks)
	case early:
		return "", wrong("usage came before the finish_reason")
	}
	return "one", nil
}

func sameUsage(ctx context.Context, p *probe) (string, error) {
	s, err := p.streamWithUsage(ctx)
	if err != nil || !s.usage().Exists() {
		return "", skipped("no stream with usage to look at (usage/stream)")
	}
	a, err := p.whole(ctx)
	if err != nil {
		return "", err
	}
	streamedPrompt, wholePrompt := s.usage().Get("prompt_tokens").Int(), a.get("usage.prompt_tokens").Int()
	streamedTokens, wholeTokens := s.usage().Get("completion_tokens").Int(), a.get("usage.completion_tokens").Int()
	if streamedPrompt != wholePrompt {
		return "", wrong("prompt_tokens is %d streamed, %d whole", streamedPrompt, wholePrompt)
	}
	if s.text() == a.get("choices.0.message.content").String() && streamedTokens != wholeTokens {
		return "", wrong("completion_tokens is %d streamed, %d whole, of the same text", streamedTokens, wholeTokens)
	}
	return sprintf("%d + %d in both", wholePrompt, wholeTokens), nil
}

func noUsageChunk(ctx context.Context, p *probe) (string, error) {
	s, err := p.streamed(ctx, p.chat(members{"stream": true, "stream_options": members{"include_usage": false}}))
	if err != nil {
		return "", err
	}
	if s.status != http.StatusOK {
		return "", skipped("stream_options are refused (usage/stream): %s", s.said())
	}
	for e := range s.chunks {
		if e.get("usage").IsObject() && len(e.get("choices").Array()) == 0 {
			return "", wrong("a chunk has usage and no choices")
		}
	}
	return "none", nil
}

func continuousUsage(ctx context.Context, p *probe) (string, error) {
	s, err := p.streamed(ctx, p.chat(members{"stream": true, "stream_options": members{"include_usage": true, "continuous_usage_stats": true}}))
	if err != nil {
		return "", err
	}
	if s.status != http.StatusOK {
		return "", skipped("stream_options are refused (usage/stream): %s", s.said())
	}
	last, with := int64(0), 0
	for e := range s.chunks {
		if !e.output {
			continue
		}
		n := e.get("usage.completion_tokens")
		if !n.Exists() {
			return "", wrong("a chunk with output has no usage")
		}
		if n.Int() < last {
			return "", wrong("completion_tokens falls from %d to %d", last, n.Int())
		}
		last = n.Int()
		with++
	}
	return sprintf("in %d chunks", with), nil
}
