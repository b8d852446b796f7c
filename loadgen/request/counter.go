package request

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/reports/record"
)

// counter counts the tokens of the prompt of a request.
type counter interface {
	count(ctx context.Context, body []byte) (int, error)
}

// ErrNoUsage means that a server does not say how many tokens a prompt had.
var ErrNoUsage = errors.New("the server does not report usage.prompt_tokens")

// usageCounter sends the request and reads the server's usage.
type usageCounter struct {
	client *client.Client
	sent   int
}

func (u *usageCounter) count(ctx context.Context, body []byte) (int, error) {
	u.sent++
	var r record.Record
	u.client.Do(ctx, client.Request{Body: body}, &r)
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	n, ok := r.Input.Value()
	switch {
	case ok:
		return n, nil
	case r.Outcome == record.Failed && r.Failure != record.NoOutput:
		return 0, fmt.Errorf("%s: %s", r.Failure, strings.TrimPrefix(r.Detail, string(r.Failure)+": "))
	default:
		return 0, ErrNoUsage
	}
}

// tokenizeCounter asks the server's tokenizer: vLLM's and SGLang's /tokenize,
// which applies the chat template, or llama.cpp's, which has another path for
// that.
type tokenizeCounter struct {
	client   *client.Client
	llamaCPP bool
	sent     int // and answered
}

// asked is what bodies of all dialects have that decides on their tokens.
type asked struct {
	Model    string          `json:"model,omitempty"`
	Messages json.RawMessage `json:"messages,omitempty"`
	Tools    json.RawMessage `json:"tools,omitempty"`
	Prompt   string          `json:"prompt,omitempty"`
}

// readAsked reads a body that a Writer has written.
func readAsked(body []byte) (asked, error) {
	var a struct {
		asked
		Input json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return asked{}, fmt.Errorf("reading a request: %w", err)
	}
	if len(a.Input) > 0 && json.Unmarshal(a.Input, &a.Prompt) != nil {
		a.Messages = a.Input
	}
	return a.asked, nil
}

func (k *tokenizeCounter) count(ctx context.Context, body []byte) (int, error) {
	a, err := readAsked(body)
	if err != nil {
		return 0, err
	}
	if !k.llamaCPP {
		if n, err := k.tokenize(ctx, a); err == nil || ctx.Err() != nil {
			return n, err
		}
	}
	text := a.Prompt
	if len(a.Messages) > 0 {
		var template struct{ Prompt string }
		if err := k.post(ctx, "/apply-template", a, &template); err != nil {
			return 0, err
		}
		text = template.Prompt
	}
	n, err := k.tokenize(ctx, struct {
		Content      string `json:"content"`
		AddSpecial   bool   `json:"add_special"`
		ParseSpecial bool   `json:"parse_special"`
	}{text, true, true})
	k.llamaCPP = err == nil
	return n, err
}

func (k *tokenizeCounter) tokenize(ctx context.Context, question any) (int, error) {
	var answer struct {
		Count  int
		Tokens []json.RawMessage
	}
	if err := k.post(ctx, "/tokenize", question, &answer); err != nil {
		return 0, err
	}
	if n := max(answer.Count, len(answer.Tokens)); n > 0 {
		return n, nil
	}
	return 0, errors.New("/tokenize does not say how many tokens there are")
}

func (k *tokenizeCounter) post(ctx context.Context, path string, question, answer any) error {
	body, err := k.client.Post(ctx, path, encoded(question))
	if err != nil {
		return err
	}
	k.sent++
	if err := json.Unmarshal(body, answer); err != nil {
		return fmt.Errorf("%s: reading the answer: %w", path, err)
	}
	return nil
}
