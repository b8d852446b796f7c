package cache

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// maxEmbedding is the largest answer of an embedding endpoint that is read: some
// thousands of numbers as text.
const maxEmbedding = 1 << 20

// Embedder asks an OpenAI-compatible endpoint for embeddings.
type Embedder struct {
	Client *http.Client
	Base   string // URL up to and without /v1
	Key    string // bearer key; empty sends none
	Model  string
}

// ErrMade is in the error of an embedding that cannot be used, or did not come in time,
// and that the endpoint may have made all the same, and may charge for.
var ErrMade = errors.New("it may have been made")

// Embed returns the embedding of a text, scaled to length 1, and how many tokens of
// input the endpoint counted, 0 when it does not say; the latter also with ErrMade. Its
// errors hold neither the text nor the key.
func (e *Embedder) Embed(ctx context.Context, text string) (vector []float32, tokens int64, err error) {
	body, err := json.Marshal(map[string]string{"model": e.Model, "input": text, "encoding_format": "float"})
	if err != nil {
		return nil, 0, fmt.Errorf("encoding a request for an embedding: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.Base+"/v1/embeddings", bytes.NewReader(body))
	if err != nil {
		return nil, 0, fmt.Errorf("building a request for an embedding: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	if e.Key != "" {
		r.Header.Set("Authorization", "Bearer "+e.Key)
	}
	var sent atomic.Bool
	r = r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(i httptrace.WroteRequestInfo) { sent.Store(i.Err == nil) }}))
	response, err := e.Client.Do(r)
	if err != nil && sent.Load() && ctx.Err() != nil {
		return nil, 0, fmt.Errorf("asking for an embedding: %w: %w", err, ErrMade)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("asking for an embedding: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // nothing is left to read that anybody waits for
	if response.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("asking for an embedding: the endpoint answered %d", response.StatusCode)
	}
	var answer struct {
		Data []struct {
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			PromptTokens float64 `json:"prompt_tokens"`
		} `json:"usage"`
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxEmbedding)).Decode(&answer); err != nil {
		return nil, 0, fmt.Errorf("reading an embedding: %w: %w", err, ErrMade)
	}
	if len(answer.Data) != 1 {
		return nil, int64(answer.Usage.PromptTokens), fmt.Errorf("reading an embedding: %d came for one text: %w", len(answer.Data), ErrMade)
	}
	unit, ok := Unit(answer.Data[0].Embedding)
	if !ok {
		return nil, int64(answer.Usage.PromptTokens), fmt.Errorf("reading an embedding: it has no direction: %w", ErrMade)
	}
	return unit, int64(answer.Usage.PromptTokens), nil
}
