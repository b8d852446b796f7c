package gateway

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/llmctl/llmctl/gateway/check"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// request is what the gateway understands of a request for a model. Everything
// else in the body stays as the client wrote it, byte for byte.
type request struct {
	dialect *dialect
	body    []byte
	edits   []edit // for every target
	filled  int    // 1 + the index of the edit that sets the alias's default of max_tokens

	model        string
	stream       bool
	includeUsage bool  // the client asked for usage in its stream
	usageAt      *edit // that asks for it where the client wrote something else; nil where it wrote nothing
	choices      int64 // n times the number of prompts
	generated    int64 // answers that are made for them: best_of may be more than n
	asked        int64 // max_tokens as the client wants it, within the cap; 0 when absent
	maxTokens    int64 // the same, with the alias's default; 0 when absent
	maxKey       string
	input        int64 // estimate, tokens
	textOnly     bool  // the prompt is text, all of it in the body

	// fields are the top-level ones that the dialect reads. Each may appear once
	// and in lower case only: Python's JSON reader takes the last of two equal
	// keys and Go's ignores case, so an engine could see another model, or
	// another bound, than the one that was checked here.
	fields map[string]gjson.Result
	top    check.Body // all top-level fields, for those who only look
	free   bool       // an answer that is there already takes no tokens
}

// edit replaces body[start:end] with text.
type edit struct {
	start, end int
	text       []byte
}

const (
	maxDepth   = 500 // levels of nesting; Python's JSON reader, in most engines, gives up at about 1,000
	maxChoices = 128 // OpenAI's bound on n
)

// parseRequest reads a body. Its errors are for the client.
func parseRequest(d *dialect, body []byte) (*request, error) {
	body = bytes.TrimSpace(body)
	if !utf8.Valid(body) { // engines refuse it, or each reads another text
		return nil, errors.New("the body is not valid UTF-8")
	}
	if tooDeep(body) {
		return nil, fmt.Errorf("the body is nested more than %d levels deep", maxDepth)
	}
	if !gjson.ValidBytes(body) || len(body) == 0 || body[0] != '{' {
		return nil, errors.New("the body is not a JSON object")
	}
	r := &request{dialect: d, body: body, choices: 1, generated: 1, fields: map[string]gjson.Result{}, top: check.Body{}}
	if err := r.collect(); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	r.input, r.textOnly = d.estimate(r.top)
	return r, nil
}

// tooDeep tells whether brackets outside of strings nest deeper than maxDepth.
// It runs before the JSON validator, which recurses. Most bodies have fewer brackets
// than that, and need no reading: bytes.Count has instructions of its own.
func tooDeep(body []byte) bool {
	if bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) <= maxDepth {
		return false
	}
	depth, inString := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// fieldError is a mistake in one field of a request, in words for the client.
type fieldError struct{ field, message, code string }

func (e *fieldError) Error() string { return e.message }

func bad(field, message string) *fieldError { return &fieldError{field: field, message: message} }

func (r *request) collect() (err error) {
	gjson.ParseBytes(r.body).ForEach(func(key, value gjson.Result) bool {
		r.top[key.Str] = value
		if r.dialect.generates {
			err = loose(key.Str, value)
		}
		name, known := r.dialect.fields.name(key.Str)
		if !known || err != nil {
			return err == nil
		}
		if _, seen := r.fields[name]; seen {
			err = &fieldError{field: name, message: fmt.Sprintf("field %q appears twice", name)}
		} else if key.Str != name {
			err = &fieldError{field: name, message: fmt.Sprintf("field %q must be written %q", key.Str, name)}
		}
		r.fields[name] = value
		return err == nil
	})
	return err
}

func (r *request) read() error {
	model := r.fields["model"]
	if !model.Exists() {
		return &fieldError{field: "model", code: "missing_required_parameter", message: `"model" is missing`}
	}
	if model.Type != gjson.String || model.Str == "" {
		return bad("model", `"model" must be a string`)
	}
	r.model = model.Str
	var err error
	if r.stream, err = r.flag("stream", r.fields["stream"]); err != nil {
		return err
	}
	if r.stream && !r.dialect.streams {
		return bad("stream", `"stream" must be false: this endpoint does not stream`)
	}
	if err := r.readStreamOptions(); err != nil {
		return err
	}
	return r.readWork()
}

func (r *request) readStreamOptions() (err error) {
	options := r.fields["stream_options"]
	if options.Type != gjson.Null && !options.IsObject() {
		return bad("stream_options", `"stream_options" must be an object`)
	}
	const name = "stream_options.include_usage"
	options.ForEach(func(key, value gjson.Result) bool {
		switch {
		case !strings.EqualFold(key.Str, "include_usage"): // engines may heed it in any case, or in none
		case r.usageAt != nil:
			err = bad(name, fmt.Sprintf("field %q appears twice", name))
		case key.Str != "include_usage":
			err = bad(name, fmt.Sprintf("field %q must be written %q", "stream_options."+key.Str, name))
		default:
			r.usageAt = &edit{start: value.Index, end: value.Index + len(value.Raw), text: []byte("true")}
			r.includeUsage, err = r.flag(name, value)
		}
		return err == nil
	})
	return err
}

// askForUsage is the edit by which a stream reports usage. A key that is there is kept
// as it is spelled, for servers differ in which of two they heed, and some refuse both.
func (r *request) askForUsage() (edit, error) {
	if r.usageAt != nil {
		return *r.usageAt, nil
	}
	options := []byte(r.fields["stream_options"].Raw)
	if len(options) == 0 || options[0] != '{' {
		options = []byte("{}")
	}
	options, err := sjson.SetRawBytes(options, "include_usage", []byte("true"))
	if err != nil {
		return edit{}, fmt.Errorf("setting stream_options.include_usage: %w", err)
	}
	return r.setting("stream_options", options), nil
}

func (r *request) flag(name string, v gjson.Result) (bool, error) {
	switch v.Type {
	case gjson.Null: // absent or null
		return false, nil
	case gjson.True, gjson.False:
		return v.Bool(), nil
	}
	return false, bad(name, fmt.Sprintf("%q must be true or false", name))
}

// count reads a whole number from 1; absent and null are 0.
func (r *request) count(name string) (int64, error) {
	v := r.fields[name]
	if v.Type == gjson.Null {
		return 0, nil
	}
	if v.Type != gjson.Number || v.Num != math.Trunc(v.Num) || v.Num < 1 || v.Num > math.MaxInt32 {
		return 0, bad(name, fmt.Sprintf("%q must be a whole number from 1", name))
	}
	return int64(v.Num), nil
}

// dress is what a deployment's requests carry beside what their clients wrote.
type dress struct {
	model    string // the name that the provider knows
	salt     string // the tenant's cache_salt; empty for providers that take none
	usage    bool   // ask for usage in streams
	priority *int   // of the request's class; nil for providers that take none
}

// address returns the body for one deployment.
func (r *request) address(d dress) (body []byte, usageAdded bool, err error) {
	edits := append(slices.Clip(r.edits), r.setting("model", gjson.AppendJSONString(nil, d.model)))
	if d.priority != nil && r.dialect.generates { // whatever the client asked for
		edits = append(edits, r.setting("priority", strconv.AppendInt(nil, int64(*d.priority), 10)))
	}
	if d.salt != "" && r.dialect.salted {
		edits = append(edits, r.setting("cache_salt", gjson.AppendJSONString(nil, combineSalt(d.salt, r.fields["cache_salt"]))))
	}
	if r.stream && !r.includeUsage && d.usage && r.dialect.options {
		ask, err := r.askForUsage()
		if err != nil {
			return nil, false, err
		}
		edits = append(edits, ask)
		usageAdded = true
	}
	return applied(r.body, edits), usageAdded, nil
}

// setting replaces or adds a top-level field.
func (r *request) setting(key string, raw []byte) edit {
	if v, ok := r.fields[key]; ok {
		return edit{start: v.Index, end: v.Index + len(v.Raw), text: raw}
	}
	// There is always a field before it: model is required.
	end := len(r.body) - 1
	text := append(gjson.AppendJSONString([]byte{','}, key), ':')
	return edit{start: end, end: end, text: append(text, raw...)}
}

// applied returns the body with all edits, in one copy.
func applied(body []byte, edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return a.start - b.start })
	size := len(body)
	for _, e := range edits {
		size += len(e.text)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range edits {
		out = append(append(out, body[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, body[at:]...)
}

// tenantSalt is the cache_salt of a tenant: stable over restarts and equal on
// every gateway, so that the tenant's own requests share the prefix cache.
func tenantSalt(tenant string) string { return saltOf("tenant", tenant) }

// combineSalt keeps a salt that the client chose to part its own users, inside
// the tenant's: a client can split its share of the cache, never leave it.
func combineSalt(tenant string, client gjson.Result) string {
	if client.Type != gjson.String || client.Str == "" {
		return tenant
	}
	return saltOf(tenant, client.Str)
}

func saltOf(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(append(binary.AppendUvarint(nil, uint64(len(p))), p...)) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
