package server

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/chat"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/openai"
)

// answer is one request being answered.
type answer struct {
	server   *server
	chat     bool
	id       string
	body     *openai.Generation
	logprobs bool
	echo     bool // of the prompt, before the output
	scoring  bool // of the prompt alone: no output is told
	silent   bool // about reasoning
	prompts  []prompt
	choices  []*choice
	started  bool // the first event has come
	queued   time.Duration
}

// prompt is what a request's answers go on from.
type prompt struct {
	tokens   []int32
	echo     string // the text that goes before an answer
	cached   int
	logprobs []model.Logprob
}

func (s *server) newAnswer(w http.ResponseWriter, g *openai.Generation, chat bool) *answer {
	a := &answer{server: s, chat: chat, body: g, id: "cmpl-" + w.Header().Get("X-Request-Id")}
	if chat {
		a.id = "chat" + a.id
	}
	return a
}

// generate answers a request, of which each prompt is one of the engine's. newParser
// makes what reads an answer. Whatever ends the handler, the client's leaving
// included, ends all of the request before the handler returns, so nothing runs on
// for nobody.
func (a *answer) generate(w http.ResponseWriter, r *http.Request, requests []engine.Request, newParser func() chat.Parser) {
	ctx, cancel := context.WithCancel(r.Context())
	var streams []*engine.Stream
	var readers sync.WaitGroup
	defer func() {
		cancel()
		for _, s := range streams {
			s.Leave()
		}
		readers.Wait()
	}()
	span := a.server.begin(r, a)
	defer span.end()
	span.asked(requests[0].Sampling, requests[0].N, requests[0].MaxTokens)
	var err error
	streams, err = a.server.engine.SubmitAll(ctx, requests)
	if err != nil {
		span.refused(err)
		refuseSubmit(w, err)
		return
	}
	for i, request := range requests {
		for range request.N {
			c := &choice{answer: a, index: len(a.choices), prompt: i, parser: newParser()}
			c.offsets.server = a.server
			a.choices = append(a.choices, c)
		}
	}
	perPrompt := len(a.choices) / len(a.prompts)
	in := incoming{arrivals(ctx, streams, &readers), a, perPrompt, span}
	if a.body.Stream {
		in.stream(ctx, w)
	} else {
		in.whole(w)
	}
}

// incoming are the events of a request by choice.
type incoming struct {
	events    <-chan arrival
	answer    *answer
	perPrompt int
	span      *span
}

// note keeps what an event says of its prompt and returns its choice.
func (in *incoming) note(e *arrival) *choice {
	a := in.answer
	p := &a.prompts[e.prompt]
	if e.Prompt != nil {
		p.logprobs = e.Prompt
	}
	p.cached = e.Cached
	if !a.started {
		a.started, a.queued = true, e.Queued
	}
	in.span.note(e)
	return a.choices[e.prompt*in.perPrompt+e.Index]
}

// whole waits for the end and answers at once.
func (in *incoming) whole(w http.ResponseWriter) {
	a := in.answer
	choices := make([]*written, len(a.choices))
	for i, c := range a.choices {
		choices[i] = &written{choice: c}
	}
	ended := 0
	for e := range in.events {
		c := in.note(&e)
		if unanswered(e.Finish) {
			refuseUnanswered(w, e.Finish)
			return
		}
		choices[c.index].add(c.take(&e.Event))
		if e.Finish != sched.Running {
			ended++
		}
	}
	if ended < len(choices) {
		tellGone(w)
		return
	}
	tellQueue(w.Header(), a.queued)
	reply(w, a.completion(choices))
}

func (a *answer) completion(choices []*written) openai.Completion {
	c := openai.Completion{
		ID: a.id, Object: "text_completion", Created: a.server.Now().Unix(), Model: a.server.name(), Usage: a.usage(),
	}
	for _, w := range choices {
		c.Choices = append(c.Choices, w.told())
	}
	if a.chat {
		c.Object = "chat.completion"
		if a.body.PromptLogprobs != nil {
			c.PromptLogprobs = a.server.promptEntries(a.prompts[0].logprobs)
		}
		if a.body.ReturnTokenIDs {
			c.PromptTokenIDs = a.prompts[0].tokens
		}
	}
	return c
}

// usage is that of all prompts and answers so far.
func (a *answer) usage() openai.UsageReport {
	prompt, output, cached := 0, 0, 0
	for _, p := range a.prompts {
		prompt += len(p.tokens)
		cached += p.cached
	}
	for _, c := range a.choices {
		output += c.output
	}
	return openai.NewUsageReport(prompt, output, cached)
}

// unanswered reports whether an answer ended without its end.
func unanswered(reason sched.FinishReason) bool {
	return reason == sched.Aborted || reason == sched.Failed
}

// refuseSubmit answers for a request that the engine did not take. Its queue is the
// server's affair and no limit of the client's: 503, with the time to come again, not
// 429.
func refuseSubmit(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, engine.ErrQueueFull), errors.Is(err, engine.ErrClosed):
		w.Header().Set("Retry-After", strconv.Itoa(retryAfter(err)))
		refuse(w, http.StatusServiceUnavailable, err.Error(), "", "overloaded")
	case errors.Is(err, context.Canceled):
		tellGone(w)
	default:
		refuse(w, http.StatusBadRequest, err.Error(), "", "")
	}
}

// retryAfter is how long a client should wait, in whole seconds and at least one.
func retryAfter(err error) int {
	busy, ok := errors.AsType[*engine.BusyError](err)
	if !ok {
		return 1
	}
	return int(max(1, math.Ceil(busy.RetryAfter.Seconds())))
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

// tellQueue says how long the request waited before it was started, in milliseconds
// as Hugging Face's TGI does.
func tellQueue(h http.Header, queued time.Duration) {
	h.Set("X-Queue-Time", strconv.FormatFloat(float64(queued.Microseconds())/1000, 'f', -1, 64))
}

// failedMessage is all that a client hears; the operator hears more from OnError.
const failedMessage = "the engine failed"
