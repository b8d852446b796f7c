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

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// request is what the gateway understands of a completion request. Everything
// else in the body stays as the client wrote it, byte for byte.
type request struct {
	body  []byte
	edits []edit

	model        string
	stream       bool
	includeUsage bool  // the client asked for usage in its stream
	choices      int64 // n times the number of prompts
	maxTokens    int64 // 0 when absent
	maxKey       string
	input        int64 // estimate, tokens

	fields map[string]gjson.Result // the top-level fields of interest
}

// edit replaces body[start:end] with text.
type edit struct {
	start, end int
	text       []byte
}

// interesting are the top-level fields that the gateway reads. Each may appear
// once and in lower case only: Python's JSON reader takes the last of two equal
// keys and Go's ignores case, so an engine could see another model, or another
// bound, than the one that was checked here.
var interesting = []string{
	"model", "stream", "stream_options", "max_tokens", "max_completion_tokens", "n", "cache_salt", "messages", "prompt", "tools",
}

const (
	maxDepth   = 500 // levels of nesting; Python's JSON reader, in most engines, gives up at about 1,000
	maxChoices = 128 // OpenAI's bound on n
)

// parseRequest reads a body. Its errors are for the client.
func parseRequest(body []byte) (*request, error) {
	body = bytes.TrimSpace(body)
	if tooDeep(body) {
		return nil, fmt.Errorf("the body is nested more than %d levels deep", maxDepth)
	}
	if !gjson.ValidBytes(body) || len(body) == 0 || body[0] != '{' {
		return nil, errors.New("the body is not a JSON object")
	}
	r := &request{body: body, choices: 1, fields: map[string]gjson.Result{}}
	if err := r.collect(); err != nil {
		return nil, err
	}
	if err := r.read(); err != nil {
		return nil, err
	}
	r.input = estimateInput(r.fields)
	return r, nil
}

// tooDeep tells whether brackets outside of strings nest deeper than maxDepth.
// It runs before the JSON validator, which recurses.
func tooDeep(body []byte) bool {
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

func (r *request) collect() (err error) {
	gjson.ParseBytes(r.body).ForEach(func(key, value gjson.Result) bool {
		for _, name := range interesting {
			if !strings.EqualFold(key.Str, name) {
				continue
			}
			if _, seen := r.fields[name]; seen {
				err = fmt.Errorf("field %q appears twice", name)
			} else if key.Str != name {
				err = fmt.Errorf("field %q must be written %q", key.Str, name)
			}
			r.fields[name] = value
		}
		return err == nil
	})
	return err
}

func (r *request) read() error {
	model := r.fields["model"]
	if model.Type != gjson.String || model.Str == "" {
		return errors.New(`"model" must be a string`)
	}
	r.model = model.Str
	var err error
	if r.stream, err = r.flag("stream", r.fields["stream"]); err != nil {
		return err
	}
	if err := r.readStreamOptions(); err != nil {
		return err
	}
	n, err := r.count("n")
	if err != nil {
		return err
	}
	if n > maxChoices {
		return fmt.Errorf(`"n" must be at most %d`, maxChoices)
	}
	r.choices = max(n, 1) * promptCount(r.fields["prompt"])
	for _, key := range []string{"max_tokens", "max_completion_tokens"} { // the second, newer one wins
		n, err := r.count(key)
		if err != nil {
			return err
		}
		if n > 0 {
			r.maxTokens, r.maxKey = n, key
		}
	}
	return nil
}

func (r *request) readStreamOptions() (err error) {
	options := r.fields["stream_options"]
	if options.Type != gjson.Null && !options.IsObject() {
		return errors.New(`"stream_options" must be an object`)
	}
	times := 0
	options.ForEach(func(key, value gjson.Result) bool {
		if strings.EqualFold(key.Str, "include_usage") {
			times++
			r.includeUsage, err = r.flag("stream_options.include_usage", value)
		}
		return err == nil
	})
	if times > 1 {
		return errors.New(`field "stream_options.include_usage" appears twice`)
	}
	return err
}

func (r *request) flag(name string, v gjson.Result) (bool, error) {
	switch v.Type {
	case gjson.Null: // absent or null
		return false, nil
	case gjson.True, gjson.False:
		return v.Bool(), nil
	}
	return false, fmt.Errorf("%q must be true or false", name)
}

// count reads a whole number from 1; absent and null are 0.
func (r *request) count(name string) (int64, error) {
	v := r.fields[name]
	if v.Type == gjson.Null {
		return 0, nil
	}
	if v.Type != gjson.Number || v.Num != math.Trunc(v.Num) || v.Num < 1 || v.Num > math.MaxInt32 {
		return 0, fmt.Errorf("%q must be a whole number from 1", name)
	}
	return int64(v.Num), nil
}

// bound applies an alias's default and cap. Each field keeps the name that the
// client gave it: old servers know only max_tokens, new models of OpenAI only
// max_completion_tokens.
func (r *request) bound(limit config.MaxTokens) {
	ceiling := int64(limit.Cap)
	if r.maxTokens == 0 {
		fill := int64(limit.Default)
		if fill == 0 {
			fill = ceiling
		}
		if fill > 0 {
			r.maxTokens = fill
			r.set("max_tokens", strconv.AppendInt(nil, fill, 10))
		}
		return
	}
	if ceiling == 0 {
		return
	}
	for _, key := range []string{"max_tokens", "max_completion_tokens"} {
		if v := r.fields[key]; v.Type == gjson.Number && int64(v.Num) > ceiling {
			r.set(key, strconv.AppendInt(nil, ceiling, 10))
		}
	}
	r.maxTokens = min(r.maxTokens, ceiling)
}

// address makes the body fit for one deployment: its model name, the tenant's
// cache salt and a request for usage, the latter two as the provider takes them.
func (r *request) address(model, salt string, wantUsage bool) (usageAdded bool, err error) {
	r.set("model", gjson.AppendJSONString(nil, model))
	if salt != "" {
		r.set("cache_salt", gjson.AppendJSONString(nil, combineSalt(salt, r.fields["cache_salt"])))
	}
	if !r.stream || r.includeUsage || !wantUsage {
		return false, nil
	}
	options := []byte(r.fields["stream_options"].Raw)
	if len(options) == 0 || options[0] != '{' {
		options = []byte("{}")
	}
	options, err = sjson.SetRawBytes(options, "include_usage", []byte("true"))
	if err != nil {
		return false, fmt.Errorf("setting stream_options.include_usage: %w", err)
	}
	r.set("stream_options", options)
	return true, nil
}

// set replaces or adds a top-level field.
func (r *request) set(key string, raw []byte) {
	if v, ok := r.fields[key]; ok {
		r.edits = append(r.edits, edit{start: v.Index, end: v.Index + len(v.Raw), text: raw})
		return
	}
	// There is always a field before it: model is required.
	end := len(r.body) - 1
	text := append(gjson.AppendJSONString([]byte{','}, key), ':')
	r.edits = append(r.edits, edit{start: end, end: end, text: append(text, raw...)})
}

// encode returns the body with all edits applied, in one copy.
func (r *request) encode() []byte {
	slices.SortStableFunc(r.edits, func(a, b edit) int { return a.start - b.start })
	size := len(r.body)
	for _, e := range r.edits {
		size += len(e.text)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, e := range r.edits {
		out = append(append(out, r.body[at:e.start]...), e.text...)
		at = e.end
	}
	return append(out, r.body[at:]...)
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
