package request

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Extra is what a user adds to every body, such as sampling parameters. The zero
// Extra adds nothing.
type Extra struct{ members []member }

type member struct {
	key   string
	value json.RawMessage
}

// written are the parameters that bodies have anyway, and what to say instead.
var written = map[string]string{
	"model":                 "--served-model",
	"messages":              "a workload",
	"prompt":                "a workload",
	"input":                 "a workload",
	"stream":                "nothing: answers are always streamed",
	"stream_options":        "nothing: usage is always asked for",
	"max_tokens":            "--osl",
	"max_completion_tokens": "--osl",
	"max_output_tokens":     "--osl",
	"min_tokens":            "--ignore-eos",
	"ignore_eos":            "--ignore-eos",
	"user":                  "tenants in the workload",
	"priority":              "--priority",
	"cache_salt":            "--cache-salt",
	"tools":                 "tools in the workload",
	"tool_choice":           "--tool-choice",
	"response_format":       "schema in the workload",
	"text":                  "schema in the workload",
	"n":                     "nothing: a request has one answer",
}

// ParseExtra reads a JSON object, whose members must not contradict what a
// body has anyway.
func ParseExtra(text string) (Extra, error) {
	decoder := json.NewDecoder(strings.NewReader(text))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return Extra{}, fmt.Errorf("extra body %q, expected a JSON object such as %s", clip(text), `{"temperature":0.7}`)
	}
	var e Extra
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return Extra{}, fmt.Errorf("extra body %q: %w", clip(text), err)
		}
		m := member{key: key.(string)} // keys of objects are strings
		if err := decoder.Decode(&m.value); err != nil {
			return Extra{}, fmt.Errorf("extra body, value of %q: %w", m.key, err)
		}
		if instead, ok := written[m.key]; ok {
			return Extra{}, fmt.Errorf("extra body sets %q, which requests have already; use %s", m.key, instead)
		}
		if slices.ContainsFunc(e.members, func(other member) bool { return other.key == m.key }) {
			return Extra{}, fmt.Errorf("extra body sets %q twice", m.key)
		}
		e.members = append(e.members, m)
	}
	if _, err := decoder.Token(); err != nil {
		return Extra{}, fmt.Errorf("extra body %q: the object does not end", clip(text))
	}
	if _, err := decoder.Token(); err != io.EOF {
		return Extra{}, fmt.Errorf("extra body %q: something follows the object", clip(text))
	}
	return e, nil
}

// clip shortens text for a message.
func clip(text string) string {
	if len(text) > 60 {
		return strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}

// appendTo adds the members to a JSON object that is not empty.
func (e Extra) appendTo(object []byte) []byte {
	if len(e.members) == 0 {
		return object
	}
	object = bytes.TrimSuffix(object, []byte("}"))
	for _, m := range e.members {
		object = append(object, ',')
		object = append(append(append(object, encoded(m.key)...), ':'), m.value...)
	}
	return append(object, '}')
}
