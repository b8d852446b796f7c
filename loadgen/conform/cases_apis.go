package conform

import (
	"cmp"
	"context"
	"net/http"
)

// apiCases are about the other paths of the API. An endpoint need not have them;
// when it answers, it answers right.
var apiCases = []Case{
	{
		ID: "apis/completions", Title: "completions are answered", Level: Should, Suite: Engine,
		Why:   "base models, evaluations and load tools use them",
		Sends: "POST /v1/completions, max_tokens 8", Expect: `object "text_completion", choices[0].text and finish_reason, usage` + orRefused,
		try: completions,
	},
	{
		ID: "apis/completions-stream", Title: "completions are streamed", Level: Should, Suite: Engine,
		Why:   "base models, evaluations and load tools use them",
		Sends: "POST /v1/completions, max_tokens 8, stream true", Expect: "text in choices[0].text, a finish_reason, [DONE]" + orRefused,
		try: completionsStream,
	},
	{
		ID: "apis/embeddings", Title: "embeddings are lists of numbers", Level: Should, Suite: Engine,
		Why:   "searches and semantic caches are built on them",
		Sends: "POST /v1/embeddings with two texts", Expect: "two embeddings in order, of one length, and usage" + orRefused,
		try: embeddings,
	},
	{
		ID: "apis/responses", Title: "the Responses API answers", Level: Info, Suite: Engine,
		Why:   "newer SDKs and agents use it",
		Sends: "POST /v1/responses, max_output_tokens 16", Expect: `object "response", output, usage.output_tokens` + orRefused,
		try: responses,
	},
	{
		ID: "apis/responses-stream", Title: "a streamed response ends with its usage", Level: Info, Suite: Engine,
		Why:   "metering reads response.completed",
		Sends: "POST /v1/responses, max_output_tokens 16, stream true", Expect: "response.completed or response.incomplete, with usage" + orRefused,
		try: responsesStream,
	},
}

func (p *probe) completion(changes members) string {
	body := members{"model": p.model, "prompt": "One, two, three,", "max_tokens": 8, "temperature": 0}
	for name, v := range changes {
		body[name] = v
	}
	return encode(body)
}

func completions(ctx context.Context, p *probe) (string, error) {
	a, seen, done, err := feature(ctx, p, completionsPath, p.completion(nil))
	if done {
		return seen, err
	}
	if a.get("object").String() != "text_completion" || !a.get("choices.0.text").Exists() || !a.get("usage.completion_tokens").Exists() {
		return "", wrong("%s", a.said())
	}
	return knownReason(a.get("choices.0.finish_reason").String())
}

// elsewhere streams from another path than that of chats.
func (p *probe) elsewhere(ctx context.Context, path, body string) (s *streamed, seen string, done bool, err error) {
	s, err = p.readStream(ctx, request{method: http.MethodPost, path: path, body: []byte(body)}, nil)
	switch {
	case err != nil:
		return nil, "", true, err
	case s.status == http.StatusOK && s.err != nil:
		return nil, "", true, s.err
	case s.status == http.StatusOK && s.failure() != "":
		return nil, "", true, wrong("an error came: %q", clip(s.failure(), 120))
	case s.status == http.StatusOK:
		return s, "", false, nil
	case unsupported(&s.answer):
		return nil, "refused: " + s.said(), true, nil
	}
	return nil, "", true, wrong("%s", s.said())
}

func completionsStream(ctx context.Context, p *probe) (string, error) {
	s, seen, done, err := p.elsewhere(ctx, completionsPath, p.completion(members{"stream": true}))
	if done {
		return seen, err
	}
	reason := ""
	for e := range s.chunks {
		reason = cmp.Or(e.get("choices.0.finish_reason").String(), reason)
	}
	if s.outputs() == 0 || !s.isDone() {
		return "", wrong("%d events with output, [DONE]: %v", s.outputs(), s.isDone())
	}
	return knownReason(reason)
}

func embeddings(ctx context.Context, p *probe) (string, error) {
	model := cmp.Or(p.o.EmbeddingModel, p.model)
	a, seen, done, err := feature(ctx, p, embeddingsPath, encode(members{"model": model, "input": []string{"one text", "another text"}}))
	if done {
		return seen, err
	}
	data := a.get("data").Array()
	if len(data) != 2 || data[0].Get("index").Int() != 0 || data[1].Get("index").Int() != 1 {
		return "", wrong("%d embeddings: %s", len(data), a.said())
	}
	first, second := len(data[0].Get("embedding").Array()), len(data[1].Get("embedding").Array())
	if first == 0 || first != second {
		return "", wrong("embeddings of %d and %d numbers", first, second)
	}
	if !a.get("usage.prompt_tokens").Exists() {
		return "", wrong("no usage.prompt_tokens")
	}
	return sprintf("two of %d numbers", first), nil
}

func (p *probe) response(stream bool) string {
	return encode(members{"model": p.model, "input": "Count from one to ten.", "max_output_tokens": 16, "stream": stream})
}

func responses(ctx context.Context, p *probe) (string, error) {
	a, seen, done, err := feature(ctx, p, responsesPath, p.response(false))
	if done {
		return seen, err
	}
	if a.get("object").String() != "response" || !a.get("output").IsArray() || !a.get("usage.output_tokens").Exists() {
		return "", wrong("%s", a.said())
	}
	return "status " + a.get("status").String(), nil
}

func responsesStream(ctx context.Context, p *probe) (string, error) {
	s, seen, done, err := p.elsewhere(ctx, responsesPath, p.response(true))
	if done {
		return seen, err
	}
	for e := range s.chunks {
		switch kind := e.get("type").String(); kind {
		case "response.completed", "response.incomplete":
			if !e.get("response.usage.output_tokens").Exists() {
				return "", wrong("%s has no usage", kind)
			}
			return sprintf("%s with %d output tokens", kind, e.get("response.usage.output_tokens").Int()), nil
		}
	}
	return "", wrong("neither response.completed nor response.incomplete in %d events", len(s.events))
}
