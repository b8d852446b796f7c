package trace

import (
	"bufio"
	"encoding/json"
	"strings"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// mooncakeRow is one request of a trace in the manner of Mooncake: timestamp in
// milliseconds, lengths in tokens, ids of the blocks of the prompt. AIPerf adds
// text_input, session_id and delay in milliseconds. The traces of Qwen on
// Bailian have chat_id, and timestamps in seconds.
type mooncakeRow struct {
	Timestamp *float64        `json:"timestamp"`
	Input     *json.Number    `json:"input_length"`
	Text      string          `json:"text_input"`
	Output    *json.Number    `json:"output_length"`
	Hashes    []int64         `json:"hash_ids"`
	Session   json.RawMessage `json:"session_id"`
	Delay     *float64        `json:"delay"`
	Chat      json.RawMessage `json:"chat_id"`
}

// readMooncake reads such traces.
func readMooncake(in *bufio.Reader, b *builder) error {
	m := mooncake{lines: lines{in: in}, b: b, open: map[string]mooncakeSession{}}
	return m.lines.each(b, m.row)
}

type mooncake struct {
	lines  lines
	b      *builder
	blocks blocks
	first  bool // a row was taken
	timed  bool // it has a timestamp
	unit   unit // of timestamps
	open   map[string]mooncakeSession
}

type mooncakeSession struct {
	session int   // index in the builder
	at      int64 // time of the latest request
	timed   bool
	left    bool // outside of the part that is asked for
}

func (m *mooncake) row(line []byte) {
	var row mooncakeRow
	if where, reason := decode(line, &row); reason != "" {
		m.b.broken(m.lines.n, int(where), reason, "")
		return
	}
	if key := row.missing(); key != "" {
		m.b.broken(m.lines.n, 1, key+" is missing", "")
		return
	}
	t := workload.Turn{Text: row.Text}
	for _, field := range []struct {
		name string
		text *json.Number
		to   *int
	}{{"input_length", row.Input, &t.Input}, {"output_length", row.Output, &t.Output}} {
		if field.text == nil {
			continue
		}
		n, reason := tokens(field.text.String())
		if reason != "" {
			m.b.broken(m.lines.n, 1, reason+" in "+field.name, field.text.String())
			return
		}
		*field.to = n
	}
	if row.Text != "" && row.Input == nil {
		t.Input = estimate(len(row.Text))
		m.b.note(noteEstimate)
	}
	if row.Text == "" && len(row.Hashes) > 0 {
		var ok bool
		if t.Hashes, ok = m.blocks.regroup(row.Hashes, t.Input); !ok {
			m.b.broken(m.lines.n, 1, "more hash_ids than the prompt has blocks", "")
			return
		}
		if m.blocks.size > 0 && m.blocks.size != workload.HashTokens {
			m.b.note(m.blocks.String())
		}
	}
	m.place(&row, t)
}

func (r *mooncakeRow) missing() string {
	switch {
	case r.Input == nil && r.Text == "":
		return "input_length"
	case r.Output == nil:
		return "output_length"
	}
	return ""
}

// place puts a request into its session.
func (m *mooncake) place(row *mooncakeRow, t workload.Turn) {
	id := string(row.Session)
	known, later := m.open[id]
	later = later && id != "" && id != "null"
	at, timed, ok := m.time(row, later)
	if !ok {
		return
	}
	switch {
	case t.Input == 0:
		m.b.leaveOut(m.lines.n, 1, "no prompt, input_length is 0", "")
		return
	case t.Output == 0:
		m.b.leaveOut(m.lines.n, 1, "no answer, output_length is 0", "")
		return
	}
	if later {
		if known.left {
			return
		}
		m.b.note("requests with a session_id are turns of one conversation: input_length is the new message, and the earlier turns go before it")
		if row.Delay != nil {
			t.Think = max(0, time.Duration(*row.Delay*1e6))
		} else if timed && known.timed {
			m.b.note("without a delay, the time between two requests of a session is taken for think time")
			t.Think = time.Duration(max(0, at-known.at))
		}
		m.b.proceed(known.session, t)
		known.at, known.timed = at, timed
		m.open[id] = known
		return
	}
	var offset time.Duration
	in := true
	if timed {
		offset, in = m.b.at(at, m.lines.n)
	}
	s := mooncakeSession{at: at, timed: timed, left: !in}
	if in {
		s.session = m.b.begin(offset, t)
	}
	if id != "" && id != "null" {
		m.open[strings.Clone(id)] = s
	}
}

// time reads the timestamp and the delay; ok is false when the row is broken. The
// first row decides whether rows have a timestamp; later turns need none.
func (m *mooncake) time(row *mooncakeRow, later bool) (at int64, timed, ok bool) {
	if row.Delay != nil && !(*row.Delay >= 0 && *row.Delay < maxSeconds) {
		m.b.broken(m.lines.n, 1, "negative or absurd delay", "")
		return 0, false, false
	}
	timed = row.Timestamp != nil
	if !m.first {
		m.first, m.timed, m.unit = true, timed, milliseconds
		if len(row.Chat) > 0 {
			m.unit = seconds
			m.b.note("each row carries its whole prompt, so that turns are sent at their own times and not as sessions")
		}
	}
	if !timed {
		if m.timed && !later {
			m.b.broken(m.lines.n, 1, "timestamp is missing", "")
			return 0, false, false
		}
		return 0, false, true
	}
	if !m.timed {
		m.b.broken(m.lines.n, 1, "timestamp after rows without one", "")
		return 0, false, false
	}
	at, ok = nanoseconds(*row.Timestamp * float64(m.unit))
	if !ok {
		m.b.broken(m.lines.n, 1, "absurd timestamp", "")
	}
	return at, true, ok
}
