package anthropic

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// Path is where requests go, below the provider's base URL.
const Path = "/v1/messages"

// version of the API, sent in anthropic-version.
const version = "2023-06-01"

// SetHeaders adds the headers that each request carries. An empty key is left out.
func SetHeaders(h http.Header, key string) {
	h.Set("Anthropic-Version", version)
	if key != "" {
		h.Set("X-Api-Key", key)
	}
}

// Options is what a request needs beside its body.
type Options struct {
	Model     string // the vendor's name of the model
	MaxTokens int64  // for requests that name no limit: the vendor requires one
}

// Request translates a chat completion request. The body must be valid JSON; an
// error is for the client and names the field.
func Request(body []byte, o Options) ([]byte, *openai.Error) {
	r := request{fields: map[string]gjson.Result{}, out: make([]byte, 0, len(body)+256)}
	gjson.ParseBytes(body).ForEach(func(key, value gjson.Result) bool {
		r.fields[key.Str] = value
		return true
	})
	for _, step := range []func() *openai.Error{r.refuse, r.messages, r.sampling, r.stop, r.tools, r.format} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	r.field("model", gjson.AppendJSONString(nil, o.Model))
	r.field("max_tokens", strconv.AppendInt(nil, r.maxTokens(o.MaxTokens), 10))
	if r.fields["stream"].Bool() {
		r.field("stream", []byte("true"))
	}
	if id := r.first("user", "safety_identifier"); id.Type == gjson.String && id.Str != "" {
		r.field("metadata", []byte(`{"user_id":`+id.Raw+`}`))
	}
	if v := r.fields["thinking"]; v.IsObject() {
		r.field("thinking", []byte(v.Raw))
	}
	return append(r.out, '}'), nil
}

type request struct {
	fields map[string]gjson.Result // of the client's body
	out    []byte
}

// field adds a field to the request that is sent.
func (r *request) field(name string, raw []byte) {
	if len(r.out) == 0 {
		r.out = append(r.out, '{')
	} else {
		r.out = append(r.out, ',')
	}
	r.out = append(append(append(r.out, '"'), name...), `":`...)
	r.out = append(r.out, raw...)
}

// first is the first of the named fields that is there and not null.
func (r *request) first(names ...string) gjson.Result {
	for _, name := range names {
		if v := r.fields[name]; v.Type != gjson.Null {
			return v
		}
	}
	return gjson.Result{}
}

// unsupportedFields are fields without a counterpart of which the answer's shape
// or meaning depends, each with the test whether it asks for something. All
// others that are not translated are hints, and left out.
var unsupportedFields = []struct {
	name string
	asks func(gjson.Result) bool
}{
	{"n", func(v gjson.Result) bool { return v.Num != 1 }},
	{"logprobs", gjson.Result.Bool},
	{"top_logprobs", func(v gjson.Result) bool { return v.Num > 0 }},
	{"logit_bias", func(v gjson.Result) bool { return v.Get("@keys.#").Int() > 0 }},
	{"functions", func(v gjson.Result) bool { return v.Get("#").Int() > 0 }},
	{"function_call", given},
	{"audio", given},
	{"modalities", func(v gjson.Result) bool { return len(v.Array()) > 1 || v.Get("0").Str != "text" }},
	{"web_search_options", given},
	{"guided_json", given},
	{"guided_regex", given},
	{"guided_choice", given},
	{"guided_grammar", given},
	{"structured_outputs", given},
}

func given(gjson.Result) bool { return true }

func (r *request) refuse() *openai.Error {
	for _, field := range unsupportedFields {
		if v := r.first(field.name); v.Exists() && field.asks(v) {
			return unsupported(field.name, "the model's provider has no "+field.name)
		}
	}
	return nil
}

func (r *request) maxTokens(otherwise int64) int64 {
	if v := r.first("max_completion_tokens", "max_tokens"); v.Type == gjson.Number {
		return v.Int()
	}
	return otherwise
}

// sampling copies what steers the choice of tokens. The vendor's temperature
// ends at 1, OpenAI's at 2; its own compatibility layer cuts it off too. A top_p
// of 1 does nothing, and newer models refuse it beside a temperature.
func (r *request) sampling() *openai.Error {
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		v := r.fields[name]
		switch {
		case v.Type == gjson.Null:
		case v.Type != gjson.Number:
			return invalid(name, `"`+name+`" must be a number`)
		case name == "temperature" && v.Num > 1:
			r.field(name, []byte("1"))
		case name == "top_p" && v.Num == 1:
		default:
			r.field(name, []byte(v.Raw))
		}
	}
	return nil
}

func (r *request) stop() *openai.Error {
	v := r.fields["stop"]
	if v.Type == gjson.Null {
		return nil
	}
	var list []byte
	for _, s := range v.Array() { // a single string is a list of one
		if s.Type != gjson.String {
			return invalid("stop", `"stop" must be a string or a list of strings`)
		}
		if strings.TrimSpace(s.Str) == "" {
			return unsupported("stop", "the model's provider takes no stop sequence of white space alone")
		}
		list = appendItem(list, s.Raw)
	}
	if len(list) > 0 {
		r.field("stop_sequences", wrap('[', list, ']'))
	}
	return nil
}

// efforts are the vendor's names of OpenAI's values of reasoning_effort.
var efforts = map[string]string{"minimal": "low", "low": "low", "medium": "medium", "high": "high", "xhigh": "xhigh", "max": "max"}

// format translates what is asked of the answer as a whole: its effort and a
// JSON schema, which the vendor takes natively.
func (r *request) format() *openai.Error {
	var config []byte
	if v := r.first("reasoning_effort"); v.Exists() && v.Str != "none" {
		effort, ok := efforts[v.Str]
		if !ok {
			return invalid("reasoning_effort", `"reasoning_effort" must be one of none, minimal, low, medium, high, xhigh`)
		}
		config = appendItem(config, `"effort":"`+effort+`"`)
	}
	format := r.fields["response_format"]
	switch kind := format.Get("type").Str; kind {
	case "", "text":
	case "json_schema":
		schema := format.Get("json_schema.schema")
		if !schema.IsObject() {
			return invalid("response_format", `"response_format.json_schema.schema" must be a JSON schema`)
		}
		config = appendItem(config, `"format":{"type":"json_schema","schema":`+schema.Raw+`}`)
	default:
		return unsupported("response_format", "the model's provider has json_schema as a response format, not "+strconv.Quote(brief(kind)))
	}
	if len(config) > 0 {
		r.field("output_config", wrap('{', config, '}'))
	}
	return nil
}

// appendItem adds an element to a list without its brackets.
func appendItem(list []byte, item string) []byte {
	if len(list) > 0 {
		list = append(list, ',')
	}
	return append(list, item...)
}

func wrap(open byte, list []byte, end byte) []byte {
	return append(append([]byte{open}, list...), end)
}
