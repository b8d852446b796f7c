package server

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/openai"
)

// leastLogprob stands for what is less, minus infinity among it, which JSON cannot
// say; it is vLLM's.
const leastLogprob = -9999

// askLogprobs is for a number of likeliest tokens that a request wants beside each
// one of its own; nil wants none. The texts are vLLM's.
func askLogprobs(kind, param string, asked *int) (on bool, top int, p *problem) {
	switch {
	case asked == nil:
		return false, 0, nil
	case *asked == -1 || *asked > engine.MaxTopLogprobs: // −1 is the whole vocabulary
		n := strconv.Itoa(*asked)
		if *asked == -1 {
			n = "the whole vocabulary"
		}
		return false, 0, wrong(param, "Requested %s logprobs of %s, which is greater than max allowed: %d", kind, n, engine.MaxTopLogprobs)
	case *asked < 0:
		return false, 0, wrong(param, "`%s` must be a positive value or -1.", param)
	}
	return true, *asked, nil
}

// chatLogprobs says what a chat wants.
func chatLogprobs(body *openai.ChatRequest, r *engine.Request) (p *problem) {
	on := body.Logprobs != nil && *body.Logprobs
	if top := body.TopLogprobs; top != nil && !on {
		switch {
		case *top < -1:
			return wrong("top_logprobs", "`top_logprobs` must be a positive value or -1.")
		case *top != 0:
			return wrong("top_logprobs", "when using `top_logprobs`, `logprobs` must be set to true.")
		}
	}
	if on {
		r.Logprobs = true
		if _, r.TopLogprobs, p = askLogprobs("sample", "top_logprobs", body.TopLogprobs); p != nil {
			return p
		}
	}
	return promptLogprobs(&body.Generation, r)
}

// completionLogprobs says what a completion wants. With echo those of the prompt are
// in the same lists.
func completionLogprobs(body *openai.CompletionRequest, r *engine.Request) (p *problem) {
	if body.Logprobs != nil && *body.Logprobs < 0 {
		return wrong("logprobs", "`logprobs` must be a positive value.")
	}
	if r.Logprobs, r.TopLogprobs, p = askLogprobs("sample", "logprobs", body.Logprobs); p != nil {
		return p
	}
	if p := promptLogprobs(&body.Generation, r); p != nil {
		return p
	}
	if body.Echo && r.Logprobs && !r.PromptLogprobs {
		r.PromptLogprobs, r.TopPromptLogprobs = true, r.TopLogprobs
	}
	return nil
}

func promptLogprobs(g *openai.Generation, r *engine.Request) (p *problem) {
	if n := g.PromptLogprobs; n != nil && g.Stream && (*n > 0 || *n == -1) {
		return wrong("prompt_logprobs", "`prompt_logprobs` are not available when `stream=True`.")
	}
	r.PromptLogprobs, r.TopPromptLogprobs, p = askLogprobs("prompt", "prompt_logprobs", g.PromptLogprobs)
	return p
}

// token is a token as logprobs show it: its text, in which what is no whole character
// is U+FFFD, or its marker; and its exact bytes.
func (s *server) token(token int32) (text string, bytes []byte) {
	if bytes = s.Tokenizer.Bytes(token); len(bytes) == 0 {
		bytes = []byte(s.Tokenizer.Name(token))
	}
	return strings.ToValidUTF8(string(bytes), "\uFFFD"), bytes
}

func (s *server) topLogprob(token int32, value float32) openai.TopLogprob {
	text, bytes := s.token(token)
	numbers := make([]int, len(bytes))
	for i, b := range bytes {
		numbers[i] = int(b)
	}
	return openai.TopLogprob{Token: text, Logprob: told(value), Bytes: numbers}
}

// told is a log-probability that JSON can hold.
func told(v float32) float32 {
	if v >= leastLogprob {
		return v
	}
	return leastLogprob
}

// chatLogprob is one entry of a chat's list.
func (s *server) chatLogprob(l *model.Logprob) openai.ChatLogprob {
	entry := openai.ChatLogprob{TopLogprob: s.topLogprob(l.Token, l.Logprob), Top: make([]openai.TopLogprob, len(l.Top))}
	for i, t := range l.Top {
		entry.Top[i] = s.topLogprob(t.Token, t.Logprob)
	}
	return entry
}

// offsets counts the characters of the tokens that a completion's lists have told.
type offsets struct {
	server *server
	at     int
}

// apart is the name of a token in a completion's lists, where the likeliest tokens are
// known by it alone: its text, or, where that is no whole characters and would be
// U+FFFD as that of others, its bytes as OpenAI's completions write them, such as
// bytes:\xf0\x9f.
func apart(text string, bytes []byte) string {
	if utf8.Valid(bytes) {
		return text
	}
	var b strings.Builder
	b.WriteString("bytes:")
	for _, c := range bytes {
		fmt.Fprintf(&b, "\\x%02x", c)
	}
	return b.String()
}

// add appends one token to a completion's lists. l without a rank is the first token
// of a prompt, which nothing goes before.
func (o *offsets) add(to *openai.CompletionLogprobs, l *model.Logprob) {
	text, bytes := o.server.token(l.Token)
	to.TextOffset = append(to.TextOffset, o.at)
	o.at += utf8.RuneCountInString(text)
	text = apart(text, bytes)
	to.Tokens = append(to.Tokens, text)
	if l.Rank == 0 {
		to.TokenLogprobs = append(to.TokenLogprobs, nil)
		to.TopLogprobs = append(to.TopLogprobs, nil)
		return
	}
	value := told(l.Logprob)
	to.TokenLogprobs = append(to.TokenLogprobs, &value)
	top := map[string]float32{text: value}
	for _, t := range l.Top {
		name := apart(o.server.token(t.Token))
		if _, ok := top[name]; !ok { // of several tokens that read alike the likeliest
			top[name] = told(t.Logprob)
		}
	}
	to.TopLogprobs = append(to.TopLogprobs, top)
}

// promptEntries are vLLM's prompt_logprobs.
func (s *server) promptEntries(prompt []model.Logprob) []openai.PromptLogprob {
	entries := make([]openai.PromptLogprob, len(prompt))
	for i := range prompt {
		l := &prompt[i]
		if l.Rank == 0 {
			continue
		}
		text, _ := s.token(l.Token)
		entries[i] = openai.PromptLogprob{strconv.Itoa(int(l.Token)): {Logprob: told(l.Logprob), Rank: l.Rank, Token: text}}
		for rank, t := range l.Top {
			id := strconv.Itoa(int(t.Token))
			if _, ok := entries[i][id]; !ok {
				name, _ := s.token(t.Token)
				entries[i][id] = openai.RankedLogprob{Logprob: told(t.Logprob), Rank: rank + 1, Token: name}
			}
		}
	}
	return entries
}
