package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// defaultCompletionTokens is max_tokens of a completion that names none, in
// OpenAI's API and vLLM's.
const defaultCompletionTokens = 16

func (s *server) chat(w http.ResponseWriter, r *http.Request) {
	var body openai.ChatRequest
	if !s.decode(w, r, &body) {
		return
	}
	if p := refusedChat(&body); p != nil {
		p.write(w)
		return
	}
	tokens, err := chatPrompt(body.Messages)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error(), "messages", "")
		return
	}
	s.generate(w, r, &body.Generation, tokens, true)
}

func (s *server) complete(w http.ResponseWriter, r *http.Request) {
	var body openai.CompletionRequest
	if !s.decode(w, r, &body) {
		return
	}
	if p := refusedCompletion(&body); p != nil {
		p.write(w)
		return
	}
	tokens, err := completionPrompt(body.Prompt)
	if err != nil {
		refuse(w, http.StatusBadRequest, err.Error(), "prompt", "")
		return
	}
	s.generate(w, r, &body.Generation, tokens, false)
}

// generate answers a request whose prompt is tokenized. Whatever ends the
// handler, the client's leaving included, ends the request before the handler
// returns, so nothing runs on for nobody.
func (s *server) generate(w http.ResponseWriter, r *http.Request, g *openai.Generation, tokens []int32, chat bool) {
	if g.Model != "" && g.Model != s.ServedModelName {
		modelNotFound(w, g.Model)
		return
	}
	defaultMax := defaultCompletionTokens
	if chat {
		defaultMax = 0
	}
	request, p := s.request(g, tokens, defaultMax)
	if p != nil {
		p.write(w)
		return
	}
	ctx := r.Context()
	stream, err := s.engine.Submit(ctx, request)
	if err != nil {
		refuseSubmit(w, err)
		return
	}
	defer stream.Leave()
	a := &answer{server: s, chat: chat, stream: stream, prompt: len(tokens), id: "cmpl-" + w.Header().Get("X-Request-Id")}
	if chat {
		a.id = "chat" + a.id
	}
	if g.Stream {
		a.events(ctx, w, g.StreamOptions)
	} else {
		a.whole(ctx, w)
	}
}

// refuseSubmit answers for a request that the engine did not take.
func refuseSubmit(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, engine.ErrQueueFull), errors.Is(err, engine.ErrClosed):
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusServiceUnavailable, err.Error(), "", "overloaded")
	case errors.Is(err, context.Canceled):
		tellGone(w)
	default:
		refuse(w, http.StatusBadRequest, err.Error(), "", "")
	}
}

// statusClientGone is what nginx calls an answer that nobody waits for.
const statusClientGone = 499

// tellGone ends the answer to a client that has left. One that closed only its
// sending half hears of it: to say nothing would be net/http's 200.
func tellGone(w http.ResponseWriter) { w.WriteHeader(statusClientGone) }

// refuseUnanswered answers for a request that the engine took and did not finish.
func refuseUnanswered(w http.ResponseWriter, reason sched.FinishReason) {
	if reason == sched.Aborted {
		refuseSubmit(w, engine.ErrClosed)
		return
	}
	refuse(w, http.StatusInternalServerError, failedMessage, "", "")
}

func (p *problem) write(w http.ResponseWriter) {
	refuse(w, http.StatusBadRequest, p.message, p.param, p.code)
}

// answer is one request being answered.
type answer struct {
	server *server
	chat   bool
	stream *engine.Stream
	prompt int
	id     string
}

// whole waits for the end and answers at once.
func (a *answer) whole(ctx context.Context, w http.ResponseWriter) {
	var text strings.Builder
	for {
		e, err := a.stream.Next(ctx)
		if err != nil {
			tellGone(w)
			return
		}
		text.WriteString(e.Text)
		switch e.Finish {
		case sched.Running:
			continue
		case sched.Stop, sched.Length:
			tellQueue(w.Header(), e)
			reply(w, a.completion(text.String(), e))
		default:
			refuseUnanswered(w, e.Finish)
		}
		return
	}
}

// tellQueue says how long the request waited before it was started, in milliseconds
// as Hugging Face's TGI does.
func tellQueue(h http.Header, e engine.Event) {
	h.Set("X-Queue-Time", strconv.FormatFloat(float64(e.Queued.Microseconds())/1000, 'f', -1, 64))
}

// failedMessage is all that a client hears; the operator hears more from OnError.
const failedMessage = "the engine failed"

func (a *answer) completion(text string, last engine.Event) openai.Completion {
	choice := openai.Choice{FinishReason: string(last.Finish)}
	object := "text_completion"
	if a.chat {
		object = "chat.completion"
		choice.Message = &openai.Answer{Role: "assistant", Content: text}
	} else {
		choice.Text = &text
	}
	return openai.Completion{
		ID: a.id, Object: object, Created: a.server.Now().Unix(), Model: a.server.ServedModelName,
		Choices: []openai.Choice{choice},
		Usage:   a.usage(last),
	}
}

func (a *answer) usage(e engine.Event) openai.UsageReport {
	return openai.NewUsageReport(a.prompt, e.Output, e.Cached)
}

// events streams the answer. The role comes with the first token, not before,
// as in vLLM: until then the answer can still be an error with its own status.
func (a *answer) events(ctx context.Context, w http.ResponseWriter, o *openai.StreamOptions) {
	if o == nil {
		o = &openai.StreamOptions{}
	}
	e, err := a.stream.Next(ctx)
	if err != nil {
		tellGone(w)
		return
	}
	if e.Finish == sched.Aborted || e.Finish == sched.Failed {
		refuseUnanswered(w, e.Finish)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	tellQueue(h, e)
	out := &eventWriter{
		encoder: openai.NewChunkEncoder(a.chat, o.IncludeUsage, a.id, a.server.Now().Unix(), a.server.ServedModelName),
		w:       w, control: http.NewResponseController(w),
		usage: a.usage, include: o.IncludeUsage, continuous: o.IncludeUsage && o.ContinuousUsageStats,
	}
	if a.chat {
		out.role(e)
	}
	for err == nil {
		out.event(e)
		if out.err != nil || e.Finish != sched.Running {
			return
		}
		e, err = a.stream.Next(ctx)
	}
}

// tokenize is vLLM's POST /tokenize, for a prompt or a chat.
func (s *server) tokenize(w http.ResponseWriter, r *http.Request) {
	body := struct {
		Prompt           *string          `json:"prompt"`
		Messages         []openai.Message `json:"messages"`
		AddSpecialTokens *bool            `json:"add_special_tokens"`
		ReturnStrings    bool             `json:"return_token_strs"`
	}{}
	if !s.decode(w, r, &body) {
		return
	}
	var tokens []int32
	switch {
	case body.Prompt != nil:
		if body.AddSpecialTokens == nil || *body.AddSpecialTokens {
			tokens = append(tokens, tokenizer.BOS)
		}
		tokens = tokenizer.Encode(tokens, *body.Prompt)
	default:
		var err error
		if tokens, err = chatPrompt(body.Messages); err != nil {
			refuse(w, http.StatusBadRequest, "prompt or messages is needed: "+err.Error(), "prompt", "")
			return
		}
	}
	answer := struct {
		Count       int      `json:"count"`
		MaxModelLen int      `json:"max_model_len"`
		Tokens      []int32  `json:"tokens"`
		Strings     []string `json:"token_strs,omitempty"`
	}{Count: len(tokens), MaxModelLen: s.engine.Window(), Tokens: append([]int32{}, tokens...)}
	if body.ReturnStrings {
		for _, t := range tokens {
			answer.Strings = append(answer.Strings, tokenizer.Name(t))
		}
	}
	reply(w, answer)
}
