package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// answer is one stream, at times since it was sent.
type answer struct {
	text                   string
	prompt, cached, output int // tokens, as the server counts them
	first, last            time.Duration
	sent                   time.Time
}

// perSecond is the rate of output tokens after the first.
func (a answer) perSecond() float64 {
	return float64(a.output-1) / (a.last - a.first).Seconds()
}

// client asks one server.
type client struct {
	http *http.Client
	url  string
}

// newClient has a connection for each request: a server that closes one which is kept
// open may do so while the next request is under way, which then fails.
func newClient(url string) *client {
	return &client{&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, url}
}

// ask streams a completion of exactly so many tokens. Prompts are tokens, so that
// all servers compute the same.
func (c *client) ask(ctx context.Context, prompt []int32, tokens int) (a answer, err error) {
	body, err := json.Marshal(map[string]any{
		"model": served, "prompt": prompt, "max_tokens": tokens, "temperature": 0, "ignore_eos": true,
		"stream": true, "stream_options": map[string]bool{"include_usage": true},
	})
	if err != nil {
		return a, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/v1/completions", bytes.NewReader(body))
	if err != nil {
		return a, err
	}
	request.Header.Set("Content-Type", "application/json")
	a.sent = time.Now()
	response, err := c.http.Do(request)
	if err != nil {
		return a, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(response.Body, 300)) // what came says enough
		return a, fmt.Errorf("%s: %s", response.Status, text)
	}
	if err := a.read(response.Body); err != nil {
		return a, err
	}
	if a.output != tokens {
		return a, fmt.Errorf("%d tokens came, expected %d", a.output, tokens)
	}
	return a, nil
}

// event is what a stream of completions says.
type event struct {
	Choices []struct {
		Text string `json:"text"`
	} `json:"choices"`
	Usage *struct {
		Prompt  int `json:"prompt_tokens"`
		Output  int `json:"completion_tokens"`
		Details struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	} `json:"usage"`
	Error json.RawMessage `json:"error"`
}

// read takes the events. The last one with a choice counts as the last token's.
func (a *answer) read(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	var text strings.Builder
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || bytes.Equal(data, []byte("[DONE]")) {
			continue
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			return fmt.Errorf("reading event %q: %w", data, err)
		}
		if len(e.Error) > 0 {
			return fmt.Errorf("the stream ends with %s", e.Error)
		}
		if len(e.Choices) > 0 {
			a.last = time.Since(a.sent)
			if a.first == 0 {
				a.first = a.last
			}
			text.WriteString(e.Choices[0].Text)
		}
		if e.Usage != nil {
			a.prompt, a.output, a.cached = e.Usage.Prompt, e.Usage.Output, e.Usage.Details.Cached
		}
	}
	a.text = text.String()
	return lines.Err()
}

// together asks for all prompts at once, and returns how long that took; of errors it
// tells the first one.
func (c *client) together(ctx context.Context, prompts [][]int32, tokens int) (answers []answer, took time.Duration, err error) {
	answers = make([]answer, len(prompts))
	errs := make([]error, len(prompts))
	begun := time.Now()
	var all sync.WaitGroup
	for i, prompt := range prompts {
		all.Go(func() { answers[i], errs[i] = c.ask(ctx, prompt, tokens) })
	}
	all.Wait()
	return answers, time.Since(begun), cmp.Or(errs...)
}
