package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Errors that Probe finds before anything is sent.
var (
	ErrUnreachable  = errors.New("endpoint is unreachable")
	ErrNotAPI       = errors.New("endpoint is not an OpenAI-compatible API")
	ErrUnauthorized = errors.New("endpoint refuses the API key")
)

// probeTimeout bounds the check of an endpoint.
const probeTimeout = 10 * time.Second

// Model is what an endpoint lists of a model.
type Model struct {
	ID          string
	MaxModelLen int // longest prompt and answer together, in tokens; 0 when it is not listed
}

// Probe checks, without asking for any token, that the endpoint can be reached
// and speaks the API: it lists the models. It returns them, none when the
// endpoint does not list any. Errors are ErrUnreachable, ErrNotAPI or
// ErrUnauthorized with one line that says what was seen, or that of ctx when it
// ended first; any other error means that Endpoint is no URL.
func Probe(ctx context.Context, o Options) ([]Model, error) {
	target, err := parseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	models, err := probe(limited, o, target)
	err = redacted(err, secrets(o, target))
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err() // whatever failed, failed because of it
	}
	return models, err
}

func probe(ctx context.Context, o Options, target endpoint) ([]Model, error) {
	header := http.Header{"User-Agent": {"llmctl"}}
	for name, values := range o.Headers {
		header[http.CanonicalHeaderKey(name)] = values
	}
	authorize(header, o.APIKey, target)
	transport := o.NewTransport()
	defer transport.CloseIdleConnections()
	p := prober{transport, header, target}

	response, body, err := p.ask(ctx, http.MethodGet, target.models())
	if err != nil {
		return nil, err
	}
	if response.StatusCode == http.StatusUnauthorized {
		return nil, fmt.Errorf("%w: %s answered %s", ErrUnauthorized, target.models(), response.Status)
	}
	if models, ok := readModels(body); ok && response.StatusCode == http.StatusOK {
		return models, nil
	}
	if response.StatusCode != http.StatusOK && mediaType(response.Header.Get("Content-Type")) == "application/json" {
		return nil, nil // an API without a list of models
	}
	// Whatever else this address answers may come from a proxy that passes only
	// what it knows. A request without a body asks for no tokens, and an API
	// answers it with an error in JSON.
	second, page, err := p.ask(ctx, http.MethodPost, target.generate(o.API))
	if err != nil {
		return nil, err
	}
	if mediaType(second.Header.Get("Content-Type")) == "application/json" && !isHTML(second, page) {
		return nil, nil
	}
	return nil, fmt.Errorf("%w: %s answered %s with %s", ErrNotAPI, target.models(), response.Status, seen(response, body))
}

// OnlyModel picks the model to ask for when the user named none: that of an
// endpoint that serves just one.
func OnlyModel(models []Model) (string, error) {
	switch len(models) {
	case 0:
		return "", errors.New("the endpoint does not list its models, so one must be named")
	case 1:
		return models[0].ID, nil
	default:
		return "", fmt.Errorf("the endpoint serves %d models (%s, …), so one must be named", len(models), models[0].ID)
	}
}

type prober struct {
	transport *http.Transport
	header    http.Header
	target    endpoint
}

func (p prober) ask(ctx context.Context, method, url string) (*http.Response, []byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, p.target.asked(url), nil)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	request.Header = p.header.Clone()
	request.Host = request.Header.Get("Host") // the URL's own, when empty
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := p.transport.RoundTrip(request)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("no answer: %w", ctx.Err())
		}
		return nil, nil, fmt.Errorf("%w: %s %s: %s", ErrUnreachable, method, url, OneLine(err.Error()))
	}
	defer func() { _ = response.Body.Close() }() // nothing is left to read
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %s %s: %s", ErrUnreachable, method, url, OneLine(err.Error()))
	}
	return response, body, nil
}

func readModels(body []byte) (models []Model, ok bool) {
	var list struct {
		Data []struct {
			ID          string          `json:"id"`
			MaxModelLen json.RawMessage `json:"max_model_len"` // of vLLM and llmctl; no model is refused for a bad one
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		return nil, false
	}
	for _, model := range list.Data {
		if model.ID == "" {
			continue
		}
		length := 0
		if json.Unmarshal(model.MaxModelLen, &length) != nil || length < 0 {
			length = 0
		}
		models = append(models, Model{model.ID, length})
	}
	return models, true
}

func isHTML(response *http.Response, body []byte) bool {
	return mediaType(response.Header.Get("Content-Type")) == "text/html" || looksLikeHTML(body)
}

// seen describes an answer that is not one of an API.
func seen(response *http.Response, body []byte) string {
	if isHTML(response, body) {
		return "an HTML page" + htmlTitle(body)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return "an empty answer"
	}
	return fmt.Sprintf("%q", OneLine(string(body[:min(len(body), 60)])))
}
