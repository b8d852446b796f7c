package record

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/llmctl/llmctl/internal/jsonscan"
)

// UnmarshalJSON reads one line of records.jsonl. Unknown fields are ignored, so
// that an older llmctl reads what a newer one of the same schema wrote; a line
// without an outcome is not a record and is refused.
func (r *Record) UnmarshalJSON(line []byte) error {
	*r = Record{}
	f := fields{jsonscan.New(line)}
	f.Object()
	for key, ok := f.Key(); ok; key, ok = f.Key() {
		r.field(&f, key)
	}
	f.End()
	err := f.Err()
	if err == nil && r.Outcome == "" {
		err = errors.New("no outcome")
	}
	if err != nil {
		return fmt.Errorf("parsing record %s: %w", excerpt(line), err)
	}
	return nil
}

// MarshalJSON implements json.Marshaler with AppendJSON.
func (r *Record) MarshalJSON() ([]byte, error) { return r.AppendJSON(nil), nil }

func (r *Record) field(f *fields, key []byte) {
	switch string(key) {
	case "id":
		f.integer(&r.ID)
	case "tenant":
		f.text(&r.Tenant)
	case "class":
		f.text(&r.Class)
	case "session":
		f.integer(&r.Session)
	case "turn":
		f.whole(&r.Turn)
	case "prefix_group":
		f.count(&r.PrefixGroup)
	case "model":
		f.text(&r.Model)
	case "endpoint":
		f.count(&r.Endpoint)
	case "request_id":
		f.text(&r.RequestID)
	case "scheduled_s":
		f.moment(&r.Scheduled)
	case "sent_s":
		f.moment(&r.Sent)
	case "wrote_s":
		f.moment(&r.Wrote)
	case "first_byte_s":
		f.moment(&r.FirstByte)
	case "first_s":
		f.moment(&r.First)
	case "first_visible_s":
		f.moment(&r.FirstVisible)
	case "last_s":
		f.moment(&r.Last)
	case "finished_s":
		f.moment(&r.Finished)
	case "closed_s":
		f.moment(&r.Closed)
	case "chunks":
		r.chunksField(f)
	default:
		r.outcomeField(f, key)
	}
}

func (r *Record) outcomeField(f *fields, key []byte) {
	switch string(key) {
	case "asked_input_tokens":
		f.count(&r.AskedInput)
	case "asked_output_tokens":
		f.count(&r.AskedOutput)
	case "input_tokens":
		f.count(&r.Input)
	case "cached_tokens":
		f.count(&r.Cached)
	case "output_tokens":
		f.count(&r.Output)
	case "tokens_source":
		f.text((*string)(&r.TokensSource))
	case "short_output":
		f.boolean(&r.ShortOutput)
	case "usage_implausible":
		f.boolean(&r.UsageImplausible)
	case "outcome":
		f.text((*string)(&r.Outcome))
	case "failure":
		f.text((*string)(&r.Failure))
	case "detail":
		f.text(&r.Detail)
	case "attempts":
		f.whole(&r.Attempts)
	case "http_status":
		f.whole(&r.HTTPStatus)
	case "finish_reason":
		f.text(&r.FinishReason)
	default:
		f.Skip()
	}
}

func (r *Record) chunksField(f *fields) {
	var m MeasuredChunks
	counted := false
	f.Array()
	for f.Element() {
		at, tokens := f.chunk()
		m.Times = append(m.Times, at)
		m.Tokens = append(m.Tokens, tokens)
		counted = counted || tokens >= 0
	}
	r.Chunks = nil
	if len(m.Times) == 0 {
		return
	}
	if !counted {
		m.Tokens = nil
	}
	r.Chunks = &m
}

// fields reads the values of a record. A value of another kind, or beyond its
// range, is a mistake.
type fields struct{ jsonscan.Scanner }

// chunk reads [moment] or [moment, tokens]; tokens is −1 when it is missing.
// Members beyond the second are ignored.
func (f *fields) chunk() (at time.Duration, tokens int32) {
	tokens = -1
	member := 0
	f.Array()
	for ; f.Element(); member++ {
		switch member {
		case 0:
			at = f.seconds()
		case 1:
			var n int64
			f.integer(&n)
			if n < 0 || n > math.MaxInt32 {
				f.Fail(fmt.Errorf("token count %d is out of range", n))
			}
			tokens = int32(n)
		default:
			f.Skip()
		}
	}
	if member == 0 {
		f.Fail(errors.New("empty chunk"))
	}
	return at, tokens
}

func (f *fields) integer(v *int64) {
	text := f.Number()
	if f.Bad() {
		return
	}
	n, err := parseInteger(text)
	if err != nil {
		f.Fail(err)
	}
	*v = n
}

func (f *fields) whole(v *int) {
	var n int64
	f.integer(&n)
	*v = int(n)
}

func (f *fields) count(c *Count) {
	var n int64
	f.integer(&n)
	if n < 0 || n == math.MaxInt64 {
		f.Fail(fmt.Errorf("count %d is out of range", n))
		return
	}
	*c = Counted(int(n))
}

func (f *fields) seconds() time.Duration {
	text := f.Number()
	if f.Bad() {
		return 0
	}
	d, err := parseSeconds(text)
	if err != nil {
		f.Fail(err)
	}
	return d
}

func (f *fields) moment(m *Moment) {
	d := f.seconds()
	if d == math.MaxInt64 {
		f.Fail(errors.New("moment out of range"))
		return
	}
	*m = At(d)
}

func (f *fields) boolean(v *bool) { *v = f.Bool() }

func (f *fields) text(v *string) {
	raw := f.String()
	if f.Bad() {
		return
	}
	if bytes.IndexByte(raw, '\\') >= 0 || !utf8.Valid(raw) {
		*v = string(jsonscan.AppendUnquoted(nil, raw))
		return
	}
	*v = intern(raw)
}

// intern spares an allocation for the words that most records contain.
func intern(b []byte) string {
	switch string(b) {
	case "ok":
		return "ok"
	case "usage":
		return "usage"
	case "stop":
		return "stop"
	case "length":
		return "length"
	case "failed":
		return "failed"
	}
	return string(b)
}

func parseInteger(text []byte) (int64, error) {
	// Ids and token counts are short; the loop spares the conversion to string.
	if len(text) < 18 {
		var n int64
		for _, c := range text {
			if c < '0' || c > '9' {
				return strconv.ParseInt(string(text), 10, 64)
			}
			n = n*10 + int64(c-'0')
		}
		return n, nil
	}
	return strconv.ParseInt(string(text), 10, 64)
}

func excerpt(line []byte) string {
	if len(line) > 60 {
		return strconv.Quote(string(line[:60])) + "…"
	}
	return strconv.Quote(string(line))
}
