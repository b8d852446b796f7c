package gateway

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/internal/openai"
)

// Headers by which a client says what its request is.
const (
	sessionHeader    = "X-Session-Id"
	complexityHeader = "X-Llmctl-Complexity"
	needsHeader      = "X-Llmctl-Capabilities"
)

// Capabilities that requests show by what they hold.
const (
	needTools      = config.CapabilityTools
	needVision     = config.CapabilityVision
	needJSONSchema = config.CapabilityJSONSchema
	needEmbeddings = config.CapabilityEmbeddings
	needResponses  = config.CapabilityResponses
)

// capabilityParam is the field of a request that needs a capability.
var capabilityParam = map[string]string{needTools: "tools", needVision: "messages", needJSONSchema: "response_format", needEmbeddings: "input"}

// features reads of a request what its targets are chosen by.
func (x *exchange) features(q *request) (*route.Features, *failure) {
	f := &route.Features{
		Tenant: x.who.tenant.name, Session: x.session(q), Class: x.class,
		Input: q.input, Output: q.asked, Draw: x.g.rand(),
	}
	if q.dialect.generates {
		f.MostOutput = q.ask(0).Output
	}
	f.Needs = q.needs()
	for _, value := range x.r.Header.Values(needsHeader) {
		for word := range strings.SplitSeq(value, ",") {
			if word = strings.TrimSpace(word); word != "" && len(word) <= 64 && len(f.Needs) < 32 {
				f.Needs = append(f.Needs, word)
			}
		}
	}
	signals := route.Signals{PromptTokens: q.input}
	if text := x.r.Header.Get(complexityHeader); text != "" {
		hint, ok := route.ParseHint(text)
		if !ok {
			return nil, &failure{status: http.StatusBadRequest, outcome: outcomeInvalid, body: openai.NewError("invalid_request_error",
				fmt.Sprintf("%s: expected low, high or a number from 0 to 1, got %q", strings.ToLower(complexityHeader), brief(text, 32)), "", "")}
		}
		signals.Hint = &hint
	}
	if x.model.judges {
		f.Complexity = q.complexity(signals)
	}
	return f, nil
}

// session is what the client calls the conversation that the request belongs to:
// its header, or what the body has for parting users in caches. Its only use is as
// a hash.
func (x *exchange) session(q *request) string {
	if id := x.r.Header.Get(sessionHeader); id != "" {
		return id
	}
	for _, key := range []string{"prompt_cache_key", "user"} {
		if id := q.fields[key].Str; id != "" {
			return id
		}
	}
	return ""
}

// complexity adds to the signals what the body shows.
func (q *request) complexity(s route.Signals) float64 {
	if s.Hint == nil {
		tools := q.fields["tools"]
		functions := q.fields["functions"] // the older name
		s.Tools, s.ToolBytes = int(tools.Get("#").Int()+functions.Get("#").Int()), len(tools.Raw)+len(functions.Raw)
		for _, key := range promptFields {
			s.CodeMarkers += route.CodeMarkers(q.fields[key].Raw)
		}
	}
	return route.Complexity(s)
}

// promptFields are those that the prompt is made of, in the order in which engines
// render them; the last one that a request has is what grows from turn to turn.
var promptFields = []string{"tools", "functions", "instructions", "prompt", "messages", "input"}

// needs are the capabilities that the request shows to need.
func (q *request) needs() (needs []string) {
	switch q.dialect {
	case &embeddings:
		return []string{needEmbeddings}
	case &responses:
		needs = append(needs, needResponses)
	}
	if hasItems(q.fields["tools"]) || hasItems(q.fields["functions"]) {
		needs = append(needs, needTools)
	}
	if hasImages(q.fields["messages"]) || hasImages(q.fields["input"]) {
		needs = append(needs, needVision)
	}
	if q.fields["response_format"].Get("type").Str == "json_schema" || q.fields["text"].Get("format.type").Str == "json_schema" {
		needs = append(needs, needJSONSchema)
	}
	return needs
}

func hasItems(v gjson.Result) bool { return v.IsArray() && v.Get("0").Exists() }

// hasImages tells whether messages hold images. Most do not even have the word,
// so few are read closely.
func hasImages(messages gjson.Result) bool {
	if !strings.Contains(messages.Raw, `image`) {
		return false
	}
	found := false
	messages.ForEach(func(_, message gjson.Result) bool {
		content := message.Get("content")
		if !content.IsArray() {
			return true
		}
		content.ForEach(func(_, part gjson.Result) bool {
			kind := part.Get("type").Str
			found = kind == "image_url" || kind == "input_image" || kind == "image"
			return !found
		})
		return !found
	})
	return found
}

// blocks are the hashes by which endpoints are known to hold the prompt's
// beginning; salt is the one that the endpoint gets.
func (q *request) blocks(model, salt string) []route.Block {
	parts := make([]string, 0, len(promptFields))
	for _, key := range promptFields {
		if raw := q.fields[key].Raw; raw != "" {
			parts = append(parts, raw)
		}
	}
	return route.Blocks(make([]route.Block, 0, 64), model, salt, parts...)
}
