package conform

import (
	"context"
	"net/http"
	"slices"
)

const (
	jsonType   = "application/json"
	streamType = "text/event-stream"

	plainSends = "POST /v1/chat/completions, max_tokens 32, temperature 0, seed 1"
)

// finishReasons are those that OpenAI's API knows.
var finishReasons = []string{"stop", "length", "tool_calls", "content_filter", "function_call"}

var wholeCases = []Case{
	{
		ID: "whole/answered", Title: "a chat gets an answer", Level: Must, Suite: Engine,
		Why:    "nothing else can be told without one",
		Sends:  plainSends,
		Expect: "200 and at least one choice",
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.whole(ctx)
			if err != nil {
				return "", err
			}
			return sprintf("%q…", clip(a.get("choices.0.message.content").String(), 40)), nil
		},
	},
	{
		ID: "whole/content-type", Title: "an answer calls itself JSON", Level: Must, Suite: Engine,
		Why: "clients choose their parser by it", Issue: "lightseekorg/smg#1857",
		Sends: plainSends, Expect: "Content-Type: application/json",
		needs: whole,
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.whole(ctx)
			if err != nil {
				return "", err
			}
			return equal("content type", a.mediaType(), jsonType)
		},
	},
	{
		ID: "whole/shape", Title: "an answer has the members that SDKs read", Level: Must, Suite: Engine,
		Why:    "typed SDKs fail, or give None, on members that are missing",
		Sends:  plainSends,
		Expect: `id, object "chat.completion", created, model, choices[0] with index, message.role "assistant" and message.content, usage`,
		needs:  whole, try: wholeShape,
	},
	{
		ID: "whole/finish-reason", Title: "an answer says why it ended", Level: Must, Suite: Engine,
		Why:    "without it a cut answer looks complete",
		Sends:  plainSends,
		Expect: "finish_reason is one of stop, length, tool_calls, content_filter, function_call",
		needs:  whole,
		try: func(ctx context.Context, p *probe) (string, error) {
			a, err := p.whole(ctx)
			if err != nil {
				return "", err
			}
			return knownReason(a.get("choices.0.finish_reason").String())
		},
	},
	{
		ID: "whole/max-tokens", Title: "max_tokens bounds an answer", Level: Must, Suite: Engine,
		Why: "it bounds what a request costs", Issue: "maximhq/bifrost#5606",
		Sends: "the same with max_tokens 4", Expect: "completion_tokens ≤ 4, and finish_reason length when it is 4",
		needs: whole,
		try: func(ctx context.Context, p *probe) (string, error) {
			return bounded(ctx, p, members{"max_tokens": 4})
		},
	},
	{
		ID: "whole/max-completion-tokens", Title: "max_completion_tokens bounds an answer", Level: Must, Suite: Engine,
		Why: "it is the newer name of max_tokens, and SDKs send either", Issue: "maximhq/bifrost#5606",
		Sends: "the same with max_completion_tokens 4 in place of max_tokens", Expect: "as with max_tokens",
		needs: whole,
		try: func(ctx context.Context, p *probe) (string, error) {
			return bounded(ctx, p, members{"max_tokens": drop, "max_completion_tokens": 4})
		},
	},
}

func wholeShape(ctx context.Context, p *probe) (string, error) {
	a, err := p.whole(ctx)
	if err != nil {
		return "", err
	}
	for _, path := range []string{"id", "object", "created", "model", "choices.0.index", "choices.0.message.role", "usage.total_tokens"} {
		if !a.get(path).Exists() {
			return "", wrong("%s is missing", path)
		}
	}
	if got := a.get("object").String(); got != "chat.completion" {
		return "", wrong("object is %q", got)
	}
	if got := a.get("choices.0.message.role").String(); got != "assistant" {
		return "", wrong("the role is %q", got)
	}
	if !a.get("choices.0.message.content").Exists() && !a.get("choices.0.message.tool_calls").Exists() {
		return "", wrong("the message has neither content nor tool_calls")
	}
	return "all of them", nil
}

func knownReason(reason string) (string, error) {
	if !slices.Contains(finishReasons, reason) {
		return "", wrong("finish_reason is %q", reason)
	}
	return reason, nil
}

// bounded asks for at most four tokens in the way given.
func bounded(ctx context.Context, p *probe, change members) (string, error) {
	a, err := p.post(ctx, chatPath, p.chat(change))
	if err != nil {
		return "", err
	}
	if a.status != http.StatusOK {
		return "", wrong("%s", a.said())
	}
	tokens, reason := a.get("usage.completion_tokens"), a.get("choices.0.finish_reason").String()
	if !tokens.Exists() {
		return "", skipped("the answer has no usage to count by")
	}
	if tokens.Int() > 4 || tokens.Int() == 4 && reason == "stop" && !short(a.get("choices.0.message.content").String()) {
		return "", wrong("%d tokens, finish_reason %s", tokens.Int(), reason)
	}
	return sprintf("%d tokens, finish_reason %s", tokens.Int(), reason), nil
}

// short reports whether a text can be all that a model had to say.
func short(text string) bool { return len(text) < 8 }
