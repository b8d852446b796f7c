package record

import (
	"encoding/json"
	"strconv"
)

// AppendJSON appends r as one line of records.jsonl (without the newline): the
// fields of docs/results.md, times in seconds since the start of the run and
// exact to the nanosecond, absent fields left out. It allocates nothing when
// dst has room.
func (r *Record) AppendJSON(dst []byte) []byte {
	e := encoder{append(dst, '{')}
	e.integer("id", r.ID)
	e.text("tenant", r.Tenant)
	e.text("class", r.Class)
	e.integer("session", r.Session)
	e.integer("turn", int64(r.Turn))
	e.count("prefix_group", r.PrefixGroup)
	e.text("model", r.Model)
	e.count("endpoint", r.Endpoint)
	e.text("request_id", r.RequestID)

	e.moment("scheduled_s", r.Scheduled)
	e.moment("sent_s", r.Sent)
	e.moment("wrote_s", r.Wrote)
	e.moment("first_byte_s", r.FirstByte)
	e.moment("first_s", r.First)
	e.moment("first_visible_s", r.FirstVisible)
	e.moment("last_s", r.Last)
	e.moment("finished_s", r.Finished)
	e.moment("closed_s", r.Closed)

	e.count("asked_input_tokens", r.AskedInput)
	e.count("asked_output_tokens", r.AskedOutput)
	e.count("input_tokens", r.Input)
	e.count("cached_tokens", r.Cached)
	e.count("output_tokens", r.Output)
	e.text("tokens_source", string(r.TokensSource))
	e.flag("short_output", r.ShortOutput)
	e.flag("usage_implausible", r.UsageImplausible)
	e.chunks("chunks", r.Chunks)

	e.text("outcome", string(r.Outcome))
	e.text("failure", string(r.Failure))
	e.text("detail", r.Detail)
	e.integer("attempts", int64(r.Attempts))
	if r.HTTPStatus != 0 {
		e.integer("http_status", int64(r.HTTPStatus))
	}
	e.text("finish_reason", r.FinishReason)
	return append(e.dst, '}')
}

// encoder appends the members of one JSON object.
type encoder struct{ dst []byte }

func (e *encoder) key(name string) {
	if e.dst[len(e.dst)-1] != '{' {
		e.dst = append(e.dst, ',')
	}
	e.dst = append(e.dst, '"')
	e.dst = append(e.dst, name...)
	e.dst = append(e.dst, '"', ':')
}

func (e *encoder) integer(name string, v int64) {
	e.key(name)
	e.dst = strconv.AppendInt(e.dst, v, 10)
}

// flag writes true, or nothing.
func (e *encoder) flag(name string, v bool) {
	if v {
		e.key(name)
		e.dst = append(e.dst, "true"...)
	}
}

func (e *encoder) count(name string, c Count) {
	if n, ok := c.Value(); ok {
		e.integer(name, int64(n))
	}
}

func (e *encoder) moment(name string, m Moment) {
	if d, ok := m.Since(); ok {
		e.key(name)
		e.dst = appendSeconds(e.dst, d)
	}
}

func (e *encoder) text(name, v string) {
	if v == "" {
		return
	}
	e.key(name)
	for i := range len(v) {
		if c := v[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			// A string always marshals: what is not UTF-8 becomes U+FFFD.
			quoted, _ := json.Marshal(v)
			e.dst = append(e.dst, quoted...)
			return
		}
	}
	e.dst = append(e.dst, '"')
	e.dst = append(e.dst, v...)
	e.dst = append(e.dst, '"')
}

// chunks writes [[moment, tokens], …], or [moment] where the number of tokens
// is unknown.
func (e *encoder) chunks(name string, c Chunks) {
	if c == nil || c.Len() == 0 {
		return
	}
	e.key(name)
	e.dst = append(e.dst, '[')
	separator := "["
	for at, tokens := range c.All() {
		e.dst = append(e.dst, separator...)
		e.dst = appendSeconds(e.dst, at)
		if n, ok := tokens.Value(); ok {
			e.dst = append(e.dst, ',')
			e.dst = strconv.AppendInt(e.dst, int64(n), 10)
		}
		e.dst = append(e.dst, ']')
		separator = ",["
	}
	e.dst = append(e.dst, ']')
}
