package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
)

// UnmarshalJSON reads one line of records.jsonl. Unknown fields are ignored, so
// that an older llmctl reads what a newer one of the same schema wrote; a line
// without an outcome is not a record and is refused.
func (r *Record) UnmarshalJSON(line []byte) error {
	*r = Record{}
	s := scanner{in: line}
	err := s.object(func(key []byte) error { return r.field(&s, key) })
	if err == nil {
		err = s.end()
	}
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

func (r *Record) field(s *scanner, key []byte) error {
	switch string(key) {
	case "id":
		return s.integer(&r.ID)
	case "tenant":
		return s.text(&r.Tenant)
	case "class":
		return s.text(&r.Class)
	case "session":
		return s.integer(&r.Session)
	case "turn":
		return s.whole(&r.Turn)
	case "prefix_group":
		return s.count(&r.PrefixGroup)
	case "model":
		return s.text(&r.Model)
	case "request_id":
		return s.text(&r.RequestID)
	case "scheduled_s":
		return s.moment(&r.Scheduled)
	case "sent_s":
		return s.moment(&r.Sent)
	case "wrote_s":
		return s.moment(&r.Wrote)
	case "first_byte_s":
		return s.moment(&r.FirstByte)
	case "first_s":
		return s.moment(&r.First)
	case "first_visible_s":
		return s.moment(&r.FirstVisible)
	case "last_s":
		return s.moment(&r.Last)
	case "finished_s":
		return s.moment(&r.Finished)
	case "closed_s":
		return s.moment(&r.Closed)
	case "chunks":
		return r.chunksField(s)
	default:
		return r.outcomeField(s, key)
	}
}

func (r *Record) outcomeField(s *scanner, key []byte) error {
	switch string(key) {
	case "asked_input_tokens":
		return s.count(&r.AskedInput)
	case "asked_output_tokens":
		return s.count(&r.AskedOutput)
	case "input_tokens":
		return s.count(&r.Input)
	case "cached_tokens":
		return s.count(&r.Cached)
	case "output_tokens":
		return s.count(&r.Output)
	case "tokens_source":
		return s.text((*string)(&r.TokensSource))
	case "short_output":
		return s.boolean(&r.ShortOutput)
	case "usage_implausible":
		return s.boolean(&r.UsageImplausible)
	case "outcome":
		return s.text((*string)(&r.Outcome))
	case "failure":
		return s.text((*string)(&r.Failure))
	case "detail":
		return s.text(&r.Detail)
	case "attempts":
		return s.whole(&r.Attempts)
	case "http_status":
		return s.whole(&r.HTTPStatus)
	case "finish_reason":
		return s.text(&r.FinishReason)
	default:
		_, err := s.value()
		return err
	}
}

func (r *Record) chunksField(s *scanner) error {
	r.Chunks = nil
	var m MeasuredChunks
	counted := false
	err := s.array(func() error {
		at, tokens, err := s.chunk()
		m.Times = append(m.Times, at)
		m.Tokens = append(m.Tokens, tokens)
		counted = counted || tokens >= 0
		return err
	})
	if err != nil || len(m.Times) == 0 {
		return err
	}
	if !counted {
		m.Tokens = nil
	}
	r.Chunks = &m
	return nil
}

// chunk reads [moment] or [moment, tokens]; tokens is −1 when it is missing.
// Members beyond the second are ignored.
func (s *scanner) chunk() (at time.Duration, tokens int32, err error) {
	tokens = -1
	member := 0
	err = s.array(func() error {
		text, err := s.number()
		if err != nil {
			return err
		}
		switch member {
		case 0:
			at, err = parseSeconds(text)
		case 1:
			var n int64
			n, err = parseInteger(text)
			if err == nil && (n < 0 || n > math.MaxInt32) {
				err = fmt.Errorf("token count %d is out of range", n)
			}
			tokens = int32(n)
		}
		member++
		return err
	})
	if err == nil && member == 0 {
		err = errors.New("empty chunk")
	}
	return at, tokens, err
}

func (s *scanner) integer(v *int64) error {
	text, err := s.number()
	if err == nil {
		*v, err = parseInteger(text)
	}
	return err
}

func (s *scanner) whole(v *int) error {
	var n int64
	err := s.integer(&n)
	*v = int(n)
	return err
}

func (s *scanner) count(c *Count) error {
	var n int64
	if err := s.integer(&n); err != nil {
		return err
	}
	if n < 0 || n == math.MaxInt64 {
		return fmt.Errorf("count %d is out of range", n)
	}
	*c = Counted(int(n))
	return nil
}

func (s *scanner) moment(m *Moment) error {
	text, err := s.number()
	if err != nil {
		return err
	}
	d, err := parseSeconds(text)
	if d == math.MaxInt64 {
		return fmt.Errorf("moment %s is out of range", text)
	}
	*m = At(d)
	return err
}

func (s *scanner) text(v *string) error {
	raw, plain, err := s.quoted()
	if err != nil {
		return err
	}
	if plain {
		*v = intern(raw[1 : len(raw)-1])
		return nil
	}
	return json.Unmarshal(raw, v)
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
