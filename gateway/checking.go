package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/check"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/openai"
)

// newFilters builds the filters that an alias names, by the side they look at.
func newFilters(c *config.Config, names []string) (input, output []*check.Filter, err error) {
	for _, name := range names {
		for _, f := range c.Filters {
			if f.Name != name {
				continue
			}
			onOutput := f.On == config.OnOutput || f.On == config.OnBoth
			filter, err := newFilter(f, onOutput)
			if err != nil {
				return nil, nil, fmt.Errorf("filter %q: %w", name, err)
			}
			if f.On != config.OnOutput {
				input = append(input, filter)
			}
			if onOutput {
				output = append(output, filter)
			}
		}
	}
	return input, output, nil
}

func newFilter(c config.Filter, streams bool) (f *check.Filter, err error) {
	f = &check.Filter{Name: c.Name, Message: c.Message}
	if f.Message == "" {
		f.Message = "the content filter of this model does not allow the text"
	}
	switch c.Kind {
	case config.FilterKeyword:
		f.Matcher, err = check.NewKeywords(c.Words)
	case config.FilterRegex:
		f.Matcher, err = check.NewPattern(c.Pattern, streams)
	default:
		err = fmt.Errorf("kind: expected %s or %s, got %q", config.FilterKeyword, config.FilterRegex, c.Kind)
	}
	return f, err
}

// check refuses a request that no engine takes, or whose text a filter forbids,
// before anything is spent on it.
func (x *exchange) check(q *request) *failure {
	if f := x.stored(q); f != nil {
		return f
	}
	if p := x.g.checks.Check(x.dialect.path, q.top); p != nil {
		return &failure{status: http.StatusBadRequest, outcome: outcomeInvalid,
			body: openai.NewError("invalid_request_error", p.Message, p.Param, p.Code)}
	}
	found := check.Input(x.model.input, q.top)
	switch {
	case found == nil:
		return nil
	case found.Filter == nil:
		return &failure{status: http.StatusBadRequest, outcome: outcomeInvalid,
			body: openai.NewError("invalid_request_error", "this model filters content and takes text, no token ids", found.Field, "unsupported_value")}
	}
	x.g.metrics.filtered.WithLabelValues(x.model.alias, found.Filter.Name, "input").Inc()
	return filtered(found.Filter, found.Field)
}

// filtered is the failure of a text that a filter forbids. It does not say which
// text, nor which filter.
func filtered(f *check.Filter, param string) *failure {
	return &failure{status: http.StatusBadRequest, outcome: outcomeFiltered, noRetry: true, cause: fmt.Errorf("filter %q forbids %s", f.Name, cmp.Or(param, "the answer")),
		body: openai.NewError("invalid_request_error", f.Message, param, check.Code)}
}

// screen looks at a whole answer. One that a filter forbids is replaced by one
// without text, which says why, and tells the usage all the same: it was
// generated.
func (x *exchange) screen(body []byte) ([]byte, *failure) {
	if len(x.model.output) == 0 {
		return body, nil
	}
	part := gjson.GetBytes(body, "choices")
	if !part.Exists() {
		part = gjson.GetBytes(body, "output")
	}
	hit := check.Output(x.model.output, part)
	if hit == nil {
		return body, nil
	}
	x.block(hit)
	if !x.dialect.options {
		return nil, filtered(hit, "")
	}
	return withoutText(body), nil
}

// block notes that a filter ended the answer.
func (x *exchange) block(hit *check.Filter) {
	x.g.metrics.filtered.WithLabelValues(x.model.alias, hit.Name, "output").Inc()
	x.finishReason = check.Code
	x.caching.recorder.Spoil()
}

// withoutText is a completion as it would be if the filter had ended it before its
// first word.
func withoutText(body []byte) []byte {
	var b strings.Builder
	b.WriteByte('{')
	root := gjson.ParseBytes(body)
	root.ForEach(func(key, value gjson.Result) bool {
		if key.Str == "choices" {
			return true
		}
		b.WriteString(key.Raw + ":" + value.Raw + ",")
		return true
	})
	b.WriteString(`"choices":[`)
	for i, choice := range root.Get("choices").Array() {
		if i > 0 {
			b.WriteByte(',')
		}
		text := `"text":""`
		if choice.Get("message").Exists() {
			text = `"message":{"role":"assistant","content":null}`
		}
		fmt.Fprintf(&b, `{"index":%d,%s,"finish_reason":"%s"}`, i, text, check.Code)
	}
	b.WriteString("]}")
	return []byte(b.String())
}
