package trace

import (
	"bufio"
	"strings"
	"time"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// readBurstGPT reads BurstGPT: Timestamp in seconds, Model, Request tokens,
// Response tokens, Total tokens, Log Type; since release 2.0 with Session ID,
// empty but for conversations, and Elapsed time in seconds. Failed requests
// have no response tokens.
func readBurstGPT(in *bufio.Reader, b *builder) error {
	t, err := openTable(in)
	if err != nil {
		return err
	}
	columns, err := t.columns("Timestamp", "Request tokens", "Response tokens")
	if err != nil {
		return err
	}
	rows := burst{table: t, b: b, at: columns[0], request: columns[1], response: columns[2], session: -1, elapsed: -1, open: map[string]conversation{}}
	if i, err := t.column("Session ID"); err == nil {
		rows.session = i
	}
	if i, err := t.column("Elapsed time"); err == nil {
		rows.elapsed = i
	}
	if _, err := t.column("Model"); err == nil {
		b.note("the models of the trace are not asked for; all requests go to the one under test")
	}
	return t.each(b, rows.row)
}

// burst reads rows of BurstGPT.
type burst struct {
	*table
	b                     *builder
	at, request, response int // columns
	session, elapsed      int // −1 when there is none
	open                  map[string]conversation
}

// conversation is what the latest request of a session leaves behind.
type conversation struct {
	session int   // index in the builder
	tokens  int   // of its prompt and answer
	end     int64 // in nanoseconds
}

func (r *burst) row() {
	line := r.lines.n
	text := strings.TrimSpace(r.fields[r.at])
	when, ok := seconds.number(text)
	if !ok {
		r.b.broken(line, r.starts[r.at], "no time in seconds in "+r.names[r.at], text)
		return
	}
	input, ok := r.tokens(r.b, r.request)
	if !ok {
		return
	}
	output, ok := r.tokens(r.b, r.response)
	if !ok {
		return
	}
	var took int64
	if r.elapsed >= 0 {
		text := strings.TrimSpace(r.fields[r.elapsed])
		if took, ok = seconds.number(text); text != "" && (!ok || took < 0) {
			r.b.broken(line, r.starts[r.elapsed], "no time in seconds in "+r.names[r.elapsed], text)
			return
		}
	}
	offset, in := r.b.at(when, line)
	if !in || !r.sendable(r.b, r.request, input, r.response, output) {
		return
	}
	id := ""
	if r.session >= 0 {
		id = strings.TrimSpace(r.fields[r.session])
	}
	r.add(id, when, took, offset, workload.Turn{Input: input, Output: output})
}

// add continues a conversation with a request that came after the answer before
// it, and whose prompt is longer than what was said until then; the difference
// is the new message. Any other request begins a session.
func (r *burst) add(id string, when, took int64, offset time.Duration, t workload.Turn) {
	said := t.Input + t.Output
	c, known := r.open[id]
	if id != "" && known && when >= c.end && t.Input > c.tokens {
		r.b.note("a request of a session whose prompt is longer than prompt and answer before it continues the conversation; the difference is its message")
		t.Think = time.Duration(when - c.end)
		t.Input -= c.tokens
		r.b.proceed(c.session, t)
	} else {
		c.session = r.b.begin(offset, t)
	}
	if id != "" {
		r.open[strings.Clone(id)] = conversation{c.session, said, when + took}
	}
}
