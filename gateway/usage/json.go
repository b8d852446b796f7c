package usage

import (
	"bytes"
	"encoding/json"
	"io"
	"time"

	"github.com/llmctl/llmctl/internal/optional"
)

// Schema and RequestsSchema name the documents of WriteJSON and RequestsJSON.
const (
	Schema         = "llmctl/usage/v1"
	RequestsSchema = "llmctl/usage-requests/v1"
)

// WriteJSON writes the answer to a query as one document. What is absent is left
// out. Amounts of money are exact.
func WriteJSON(w io.Writer, q Query, groups []Group) error {
	document := struct {
		Schema string      `json:"schema"`
		From   string      `json:"from"`
		To     string      `json:"to"`
		By     []Dimension `json:"by"`
		Groups []object    `json:"groups"`
	}{Schema, stamp(q.From), stamp(q.To), append([]Dimension{}, q.By...), []object{}}
	for i := range groups {
		var o object
		for j, d := range q.By {
			o.add(string(d), groups[i].Values[j])
		}
		for _, f := range fields {
			if v, ok := f.value(&groups[i]); ok {
				o.add(f.name, v)
			}
		}
		document.Groups = append(document.Groups, o)
	}
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(document)
}

// RequestsJSON returns a function that writes one request, and one that ends the
// document.
func RequestsJSON(w io.Writer, from, to time.Time) (each func(*Record) error, end func() error) {
	separator := `{"schema":"` + RequestsSchema + `","from":"` + stamp(from) + `","to":"` + stamp(to) + `","requests":[` + "\n"
	each = func(r *Record) error {
		var o object
		for _, f := range requestFields {
			if v, ok := f.value(r); ok {
				o.add(f.name, v)
			}
		}
		line, err := o.MarshalJSON()
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, separator+string(line))
		separator = ",\n"
		return err
	}
	end = func() error {
		text := "\n]}\n"
		if separator != ",\n" {
			text = separator + "]}\n"
		}
		_, err := io.WriteString(w, text)
		return err
	}
	return each, end
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// object is a JSON object that keeps the order of its keys.
type object []member

type member struct {
	name  string
	value any
}

func (o *object) add(name string, value any) { *o = append(*o, member{name, value}) }

// MarshalJSON implements json.Marshaler.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, m := range o {
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(m.value)
		if err != nil {
			return nil, err
		}
		b.WriteByte("{,"[min(i, 1)])
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	if len(o) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// requestField is one value of a request's export.
type requestField struct {
	name  string
	value func(*Record) (any, bool)
}

var requestFields = []requestField{
	{"time", func(r *Record) (any, bool) { return r.At, true }},
	{"request_id", func(r *Record) (any, bool) { return r.RequestID, true }},
	{"tenant", func(r *Record) (any, bool) { return r.Tenant, true }},
	{"key", func(r *Record) (any, bool) { return r.Key, true }},
	{"alias", func(r *Record) (any, bool) { return r.Alias, true }},
	{"provider", func(r *Record) (any, bool) { return r.Provider, r.Provider != "" }},
	{"model", func(r *Record) (any, bool) { return r.Model, r.Model != "" }},
	{"arm", func(r *Record) (any, bool) { return r.Arm, r.Arm != "" }},
	{"class", func(r *Record) (any, bool) { return r.Class, r.Class != "" }},
	{"outcome", func(r *Record) (any, bool) { return r.Outcome, true }},
	{"status", func(r *Record) (any, bool) { return r.Status, true }},
	{"input_tokens", func(r *Record) (any, bool) { return r.Tokens.Input, true }},
	{"cached_input_tokens", func(r *Record) (any, bool) { return r.Tokens.Cached.Value() }},
	{"output_tokens", func(r *Record) (any, bool) { return r.Tokens.Output, true }},
	{"reasoning_tokens", func(r *Record) (any, bool) { return r.Tokens.Reasoning.Value() }},
	{"tokens_source", func(r *Record) (any, bool) { return r.Tokens.source() }},
	{"usd", func(r *Record) (any, bool) { return r.Cost.Total().Value() }},
	{"saved_by", func(r *Record) (any, bool) { return string(r.Saved.By), r.Saved.By != "" }},
	{"saved_input_tokens", func(r *Record) (any, bool) {
		return r.Saved.Input, r.Saved.By != "" && r.Saved.By != Cancellation
	}},
	{"saved_output_tokens", func(r *Record) (any, bool) { return r.Saved.Output, r.Saved.By != "" }},
	{"saved_usd", func(r *Record) (any, bool) { return r.Saved.Cost.Value() }},
	{"ttft_s", func(r *Record) (any, bool) { return seconds(r.TTFT) }},
	{"tpot_s", func(r *Record) (any, bool) { return seconds(r.TPOT) }},
	{"e2e_s", func(r *Record) (any, bool) { return seconds(r.E2E) }},
	{"queue_s", func(r *Record) (any, bool) { return seconds(r.Queue) }},
	{"engine_queue_s", func(r *Record) (any, bool) { return seconds(r.EngineQueue) }},
	{"attempts", func(r *Record) (any, bool) { return r.Attempts, true }},
	{"fallback", func(r *Record) (any, bool) { return r.Fallback, true }},
}

func seconds(d optional.Duration) (any, bool) {
	v, ok := d.Value()
	return v.Seconds(), ok
}

// source is where the counts come from; none when there are none.
func (t Tokens) source() (any, bool) {
	switch {
	case t.Input == 0 && t.Output == 0:
		return "", false
	case t.Estimated:
		return "estimated", true
	}
	return "usage", true
}
