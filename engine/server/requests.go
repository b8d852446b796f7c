package server

import (
	"context"
	"net/http"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/internal/openai"
)

// defaultCompletionTokens is max_tokens of a completion that names none, in
// OpenAI's API and vLLM's.
const defaultCompletionTokens = 16

func (s *server) chat(w http.ResponseWriter, r *http.Request) {
	var body openai.ChatRequest
	if !s.decode(w, r, &body) {
		return
	}
	a := s.newAnswer(w, &body.Generation, true)
	requests, newParser, p := s.chatRequest(r.Context(), &body, a)
	if p != nil {
		p.write(w)
		return
	}
	a.generate(w, r, requests, newParser)
}

func (s *server) chatRequest(ctx context.Context, body *openai.ChatRequest, a *answer) ([]engine.Request, func() chat.Parser, *problem) {
	if p := s.named(body.Model); p != nil {
		return nil, nil, p
	}
	if p := refusedChat(body); p != nil {
		return nil, nil, p
	}
	request, p := s.sampling(&body.Generation)
	if p != nil {
		return nil, nil, p
	}
	if p := chatLogprobs(body, &request); p != nil {
		return nil, nil, p
	}
	held, newParser, p := s.channels(body)
	if p != nil {
		return nil, nil, p
	}
	if request.Tokens, p = s.conversation(&body.Conversation); p != nil {
		return nil, nil, p
	}
	request.Tokens = cut(request.Tokens, body.TruncatePromptTokens)
	if p := s.bound(&request, &body.Generation, 0, "messages"); p != nil {
		return nil, nil, p
	}
	if p := s.guides.guide(ctx, held, &request); p != nil { // last: it costs most
		return nil, nil, p
	}
	a.logprobs = request.Logprobs
	a.silent = body.IncludeReasoning != nil && !*body.IncludeReasoning
	a.prompts = []prompt{{tokens: request.Tokens}}
	return []engine.Request{request}, newParser, nil
}

func (s *server) complete(w http.ResponseWriter, r *http.Request) {
	var body openai.CompletionRequest
	if !s.decode(w, r, &body) {
		return
	}
	a := s.newAnswer(w, &body.Generation, false)
	requests, p := s.completionRequests(r.Context(), &body, a)
	if p != nil {
		p.write(w)
		return
	}
	a.generate(w, r, requests, func() chat.Parser { return chat.Chain(nil, nil) })
}

func (s *server) completionRequests(ctx context.Context, body *openai.CompletionRequest, a *answer) (requests []engine.Request, p *problem) {
	if p := s.named(body.Model); p != nil {
		return nil, p
	}
	if p := refusedCompletion(body); p != nil {
		return nil, p
	}
	common, p := s.sampling(&body.Generation)
	if p != nil {
		return nil, p
	}
	if p := completionLogprobs(body, &common); p != nil {
		return nil, p
	}
	held, p := constraintOf(&body.Constraints)
	if p != nil {
		return nil, p
	}
	if a.prompts, p = s.promptsOf(body); p != nil {
		return nil, p
	}
	a.echo, a.logprobs = body.Echo, common.Logprobs
	if asked := maxTokens(&body.Generation); body.Echo && asked != nil && *asked == 0 {
		// As in vLLM: the prompt is scored, and one token is generated and not told.
		one := 1
		a.scoring, body.MaxTokens, body.MaxCompletionTokens = true, &one, nil
	}
	for _, prompt := range a.prompts {
		request := common
		request.Tokens = prompt.tokens
		if p := s.bound(&request, &body.Generation, defaultCompletionTokens, "prompt"); p != nil {
			return nil, p
		}
		requests = append(requests, request)
	}
	if p := s.guides.guide(ctx, held, &common); p != nil {
		return nil, p
	}
	for i := range requests {
		requests[i].Guide = common.Guide
	}
	return requests, nil
}
