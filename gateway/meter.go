package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/limit"
	"github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/optional"
)

// meter knows what a request used: what the upstream reported, else an estimate.
type meter struct {
	generates bool         // there is output to be counted
	belief    belief       // what an upstream can say
	estimate  limit.Tokens // input before sending; output counted on the way
	seen      int64        // bytes of output that have come
	usage     tally
	reported  bool
	doubted   bool  // a part of the report cannot be, and is estimated
	heard     heard // output that has come
	unsaid    heard // of it, since the last report
	// Which parts the usage object had: an absent count is unknown, not zero.
	toldCached, toldReasoning bool
	engineQueue               optional.Duration // that the request waited in the engine, when that says so
}

// hear takes in output that came.
func (m *meter) hear(h heard) {
	m.heard.add(h)
	m.unsaid.add(h)
	m.estimate.Output = m.heard.tokens()
}

// report takes a usage object in; the last one counts, since servers may send
// a running total with every event. Of input and output, what cannot be is estimated,
// and the other one holds. It reports whether all is believed.
func (m *meter) report(v gjson.Result) bool {
	u, ok := readUsage(v, m.generates)
	if !ok {
		return false
	}
	_, m.toldCached = toldCached(v)
	_, m.toldReasoning = toldReasoning(v)
	m.doubted = false
	if !m.belief.takesInput(u.input) {
		u.input, u.cached, m.toldCached, m.doubted = m.estimate.Input, 0, false, true
	}
	if !m.belief.takesOutput(u.output, u.input, hiddenOutput(v), m.seen) {
		u.output, u.reasoning, m.toldReasoning, m.doubted = m.estimate.Output, 0, false, true
	}
	m.usage, m.reported, m.unsaid = u, true, heard{}
	if s := v.Get("queue_time"); s.Type == gjson.Number {
		m.queuedFor(s.Num)
	}
	return !m.doubted
}

// queueHeader is how long a request waited in the engine, in milliseconds: of our
// engine, and of Hugging Face's TGI (docs of text-generation-inference, "x-queue-time").
// Groq writes queue_time, in seconds, into the usage object (its API reference).
const queueHeader = "X-Queue-Time"

// answered takes in what the header of an answer says.
func (m *meter) answered(h http.Header) {
	if ms, err := strconv.ParseFloat(h.Get(queueHeader), 64); err == nil {
		m.queuedFor(ms / 1000)
	}
}

// queuedFor notes a time in seconds, where it can be true.
func (m *meter) queuedFor(s float64) {
	if s >= 0 && s < longestQueue.Seconds() {
		m.engineQueue = optional.Measured(time.Duration(s * float64(time.Second)))
	}
}

// longestQueue is more than any request can have waited.
const longestQueue = 24 * time.Hour

// tokens is what the request is charged.
func (m *meter) tokens() limit.Tokens {
	if m.reported {
		// A report that came before the last output has not counted all of it.
		return limit.Tokens{Input: m.usage.input, Output: m.usage.output + m.unsaid.tokens()}
	}
	return m.estimate
}

// used is the same with its parts, as far as the upstream told them.
func (m *meter) used() usage.Tokens {
	counts := m.tokens()
	t := usage.Tokens{Input: counts.Input, Output: counts.Output, Estimated: !m.trusted()}
	if m.reported && m.toldCached {
		t.Cached = optional.Counted(int(m.usage.cached))
	}
	if m.reported && m.toldReasoning {
		t.Reasoning = optional.Counted(int(m.usage.reasoning))
	}
	return t
}

// trusted tells whether the upstream reported all of it, and is believed.
func (m *meter) trusted() bool { return m.reported && !m.doubted }

func (m *meter) source() string {
	if m.trusted() {
		return "usage"
	}
	return "estimated"
}
