package conform

import (
	"context"
	"strings"

	"github.com/tidwall/gjson"
)

const streamSends = "the plain chat with stream true"

// looks makes a try of a look at the plain stream.
func looks(at func(*streamed) (string, error)) try {
	return func(ctx context.Context, p *probe) (string, error) {
		s, err := p.stream(ctx)
		if err != nil {
			return "", err
		}
		return at(s)
	}
}

// streamCases are about what a stream says.
var streamCases = []Case{
	{
		ID: "stream/answered", Title: "a streamed chat gets output", Level: Must, Suite: Engine,
		Why: "nothing else about streams can be told without one", Issue: "maximhq/bifrost#5395",
		Sends: streamSends, Expect: "200, and at least one event with output before any error",
		try: looks(func(s *streamed) (string, error) { return sprintf("%d events with output", s.outputs()), nil }),
	},
	{
		ID: "stream/content-type", Title: "a stream calls itself an event stream", Level: Must, Suite: Engine,
		Why: "browsers and SDKs refuse to read it as one otherwise", Issue: "lightseekorg/smg#1857",
		Sends: streamSends, Expect: "Content-Type: text/event-stream",
		needs: stream, try: looks(func(s *streamed) (string, error) { return equal("content type", s.mediaType(), streamType) }),
	},
	{
		ID: "stream/no-content-length", Title: "a stream has no Content-Length", Level: Must, Suite: Engine,
		Why: "a length that is known was waited for, and one that a hop copied cuts the stream short", Issue: "envoyproxy/ai-gateway#2392",
		Sends: streamSends, Expect: "no Content-Length",
		needs: stream, try: looks(func(s *streamed) (string, error) {
			if length := s.header.Get("Content-Length"); length != "" {
				return "", wrong("Content-Length: %s", length)
			}
			return "none", nil
		}),
	},
	{
		ID: "stream/json", Title: "every event is a JSON object or [DONE]", Level: Must, Suite: Engine,
		Why:   "clients decode every event, and end at the first that is something else",
		Sends: streamSends, Expect: "JSON objects, then [DONE]",
		needs: stream, try: looks(everyEventIsJSON),
	},
	{
		ID: "stream/no-error", Title: "no error comes in the middle", Level: Must, Suite: Engine,
		Why: "an error after output means a request that was paid for and lost", Issue: "maximhq/bifrost#5546",
		Sends: streamSends, Expect: "no error object, no event named error, no broken connection",
		needs: stream, try: looks(noError),
	},
	{
		ID: "stream/object", Title: "every chunk is a chat.completion.chunk of one answer", Level: Must, Suite: Engine,
		Why:   "clients put chunks together by id and index",
		Sends: streamSends, Expect: `object "chat.completion.chunk", and one id, created and model in all chunks`,
		needs: stream, try: looks(oneAnswer),
	},
	{
		ID: "stream/role", Title: "the first chunk names the role", Level: Should, Suite: Engine,
		Why:   "clients that append deltas to a message have no role otherwise",
		Sends: streamSends, Expect: `delta.role "assistant" in the first chunk`,
		needs: stream, try: looks(func(s *streamed) (string, error) {
			for e := range s.chunks {
				if len(e.get("choices").Array()) == 0 {
					continue
				}
				return equal("delta.role", e.get("choices.0.delta.role").String(), "assistant")
			}
			return "", wrong("no chunk has a choice")
		}),
	},
	{
		ID: "stream/finish-reason", Title: "one chunk says why the answer ended, and no output follows it", Level: Must, Suite: Engine,
		Why: "without it a cut stream looks complete", Issue: "maximhq/bifrost#5566",
		Sends: streamSends, Expect: "exactly one finish_reason, after the last output",
		needs: stream, try: looks(finishes),
	},
	{
		ID: "stream/done", Title: "[DONE] comes last", Level: Must, Suite: Engine,
		Why: "clients wait for it, and read nothing after it", Issue: "maximhq/bifrost#5568",
		Sends: streamSends, Expect: "one [DONE], and no event after it",
		needs: stream, try: looks(doneLast),
	},
	{
		ID: "stream/ends", Title: "the body ends after [DONE]", Level: Must, Suite: Engine,
		Why:   "the connection can not be used again until then, and readers that wait for its end hang",
		Sends: streamSends, Expect: "an orderly end of the body within 2 s of [DONE]",
		needs: stream, try: looks(bodyEnds),
	},
	{
		ID: "stream/same-as-whole", Title: "a stream says what the whole answer says", Level: Should, Suite: Engine,
		Why: "text is lost or doubled where a hop takes streams apart", Issue: "QuantumNous/new-api#4184",
		Sends: plainSends + ", once streamed and once not", Expect: "the same text",
		needs: stream, try: sameAsWhole,
	},
}

func everyEventIsJSON(s *streamed) (string, error) {
	for i := range s.events {
		if e := &s.events[i]; e.bad {
			return "", wrong("event %d is %q", i+1, clip(e.data, 80))
		}
	}
	if s.tooLong {
		return "", wrong("an event is longer than %d MiB", maxBody>>20)
	}
	return sprintf("%d events", len(s.events)), nil
}

func noError(s *streamed) (string, error) {
	if failure := s.failure(); failure != "" {
		return "", wrong("the stream told an error: %q", clip(failure, 120))
	}
	if s.err != nil {
		return "", wrong("after %d events with output: %v", s.outputs(), s.err)
	}
	return "none", nil
}

func oneAnswer(s *streamed) (string, error) {
	first := map[string]string{}
	for e := range s.chunks {
		if e.error != "" {
			continue // that is for stream/no-error
		}
		for _, name := range []string{"id", "object", "created", "model"} {
			v := e.get(name)
			switch seen, known := first[name]; {
			case !v.Exists():
				return "", wrong("a chunk has no %s: %s", name, clip(e.data, 80))
			case name == "object" && v.String() != "chat.completion.chunk":
				return "", wrong("object is %q", v.String())
			case known && seen != v.Raw:
				return "", wrong("%s changes from %s to %s", name, seen, v.Raw)
			}
			first[name] = v.Raw
		}
	}
	return "id " + first["id"], nil
}

func finishes(s *streamed) (string, error) {
	if err := s.broken(); err != nil {
		return "", err
	}
	reasons, reason := 0, ""
	for e := range s.chunks {
		if e.output && reasons > 0 {
			return "", wrong("output after finish_reason %s", reason)
		}
		e.get("choices").ForEach(func(_, c gjson.Result) bool {
			if r := c.Get("finish_reason"); r.Type == gjson.String && r.Str != "" {
				reasons++
				reason = r.Str
			}
			return true
		})
	}
	if reasons != 1 {
		return "", wrong("%d chunks have a finish_reason", reasons)
	}
	return knownReason(reason)
}

func doneLast(s *streamed) (string, error) {
	for i := range s.events {
		if !s.events[i].done {
			continue
		}
		if after := len(s.events) - i - 1; after > 0 {
			return "", wrong("%d events follow [DONE], the first is %q", after, clip(s.events[i+1].data, 80))
		}
		return "last of " + sprintf("%d events", len(s.events)), nil
	}
	if err := s.broken(); err != nil {
		return "", err
	}
	return "", wrong("no [DONE] in %d events", len(s.events))
}

func bodyEnds(s *streamed) (string, error) {
	if s.waited {
		return "", wrong("the body had no end after [DONE]")
	}
	if err := s.broken(); err != nil {
		return "", err
	}
	return sprintf("after %.2f s", s.ended.Seconds()), nil
}

func sameAsWhole(ctx context.Context, p *probe) (string, error) {
	s, err := p.stream(ctx)
	if err != nil {
		return "", err
	}
	a, err := p.whole(ctx)
	if err != nil {
		return "", skipped("no whole answer to compare with (whole/answered)")
	}
	if err := s.complete(); err != nil {
		return "", err
	}
	want, got := strings.TrimSpace(a.get("choices.0.message.content").String()), strings.TrimSpace(s.text())
	if want != got {
		again, err := p.post(ctx, chatPath, p.chat(nil))
		if err == nil && strings.TrimSpace(again.get("choices.0.message.content").String()) != want {
			return "", skipped("the model does not repeat itself at temperature 0")
		}
		return "", wrong("%q streamed, %q whole", clip(got, 60), clip(want, 60))
	}
	return sprintf("%d bytes", len(got)), nil
}
