package trace

import (
	"bufio"
	"bytes"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// readBodies reads lines of request bodies: chat completions, completions or
// responses. A line is a body, or an object with a body in it (OpenAI's batch
// files are such ones); beside the body may stand its time: at, in seconds since
// the start, or timestamp, a date and time, seconds or more since 1970, or
// milliseconds since the start.
func readBodies(in *bufio.Reader, b *builder) error {
	r := bodies{lines: lines{in: in}, b: b}
	return r.lines.each(b, r.row)
}

type bodies struct {
	lines lines
	b     *builder
	first bool // a row was taken
	timed bool // it has a time
}

func (r *bodies) row(line []byte) {
	var any struct{}
	if where, reason := decode(line, &any); reason != "" {
		r.b.broken(r.lines.n, int(where), reason, "")
		return
	}
	body := bytes.Clone(line) // the line is gone with the next one
	row := gjson.ParseBytes(body)
	wrapped := row.Get("body")
	at, timed, reason := bodyTime(row)
	if reason != "" {
		r.b.broken(r.lines.n, 1, reason, "")
		return
	}
	if wrapped.Exists() {
		if !wrapped.IsObject() {
			r.b.broken(r.lines.n, wrapped.Index+1, "body that is no object", "")
			return
		}
		body = []byte(wrapped.Raw)
	} else {
		body = bare(body)
	}
	t, reason := bodyTurn(body)
	if reason != "" {
		r.b.broken(r.lines.n, wrapped.Index+1, reason, "")
		return
	}
	if !r.first {
		r.first, r.timed = true, timed
	}
	if timed != r.timed {
		r.b.broken(r.lines.n, 1, map[bool]string{true: "a time after rows without one", false: "no time after rows with one"}[timed], "")
		return
	}
	offset, in := time.Duration(0), true
	if timed {
		offset, in = r.b.at(at, r.lines.n)
	}
	if in {
		r.b.note(noteEstimate)
		r.b.begin(offset, t)
	}
}

// bare takes the keys of a trace out of a body that stands alone, which servers
// may refuse; output_length is what max_tokens is in a body.
func bare(body []byte) []byte {
	limit := gjson.GetBytes(body, "output_length")
	for _, key := range []string{"at", "timestamp", "delay", "session_id", "output_length"} {
		if changed, err := sjson.DeleteBytes(body, key); err == nil {
			body = changed
		}
	}
	if limit.Type == gjson.Number && outputOf(body) == 0 {
		if changed, err := sjson.SetRawBytes(body, "max_tokens", []byte(limit.Raw)); err == nil {
			body = changed
		}
	}
	return body
}

// bodyTime reads the time of a row; timed is false when it has none.
func bodyTime(row gjson.Result) (at int64, timed bool, reason string) {
	v, u := row.Get("at"), seconds
	if !v.Exists() {
		v, u = row.Get("timestamp"), milliseconds
	}
	switch v.Type {
	case gjson.Null:
		return 0, false, ""
	case gjson.String:
		if ns, ok := instant(v.Str); ok {
			return ns, true, ""
		}
		return 0, false, "time that is neither a number nor a date"
	case gjson.Number:
		if since, ok := epochUnit(v.Num); ok {
			u = since
		}
		ns, ok := nanoseconds(v.Num * float64(u))
		if !ok {
			reason = "absurd time"
		}
		return ns, true, reason
	}
	return 0, false, "time that is neither a number nor a date"
}

// bodyTurn is the turn of a body: the lengths are estimated, and Output is 0
// where the body sets no limit.
func bodyTurn(body []byte) (t workload.Turn, reason string) {
	size := 0
	found := false
	for _, key := range []string{"messages", "prompt", "input"} {
		if v := gjson.GetBytes(body, key); v.Exists() {
			found = true
			size += textSize(v)
		}
	}
	if !found {
		return t, "body with none of messages, prompt and input"
	}
	return workload.Turn{Body: body, Input: estimate(size), Output: outputOf(body)}, ""
}

func outputOf(body []byte) int {
	for _, key := range []string{"max_completion_tokens", "max_tokens", "max_output_tokens"} {
		if v := gjson.GetBytes(body, key); v.Type == gjson.Number && v.Num >= 1 && v.Num <= maxTokens {
			return int(v.Num)
		}
	}
	return 0
}

// textSize is the bytes of the texts in messages, in parts of them, or in a
// prompt; a number is one token of a prompt of ids.
func textSize(v gjson.Result) (n int) {
	switch {
	case v.Type == gjson.String:
		return len(v.Str)
	case v.Type == gjson.Number:
		return 4
	case v.IsArray():
		v.ForEach(func(_, part gjson.Result) bool { n += textSize(part); return true })
	case v.IsObject():
		v.ForEach(func(key, value gjson.Result) bool {
			if k := strings.ToLower(key.Str); k == "content" || k == "text" || k == "tool_calls" || k == "arguments" || k == "function" {
				n += textSize(value)
			}
			return true
		})
	}
	return n
}
