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
	unsaid    int64 // events with output since the last report
	// Which parts the usage object had: an absent count is unknown, not zero.
	toldCached, toldReasoning bool
	engineQueue               optional.Duration // that the request waited in the engine, when that says so
}

// tally holds the counts of OpenAI's usage object. Reasoning tokens are part of output.
type tally struct{ input, cached, output, reasoning int64 }

// plausible reports whether the counts can be those of a request. No request has
// neither a prompt nor an answer: servers that do not count say so with zeros.
func (u tally) plausible() bool {
	return u.input+u.output > 0 && u.cached >= 0 && u.cached <= u.input && u.input <= largestCount && u.output >= 0 && u.output <= largestCount &&
		u.reasoning >= 0 && u.reasoning <= u.output
}

// countNames are what input and output are called in a usage object.
func countNames(v gjson.Result) (input, output string) {
	if v.Get("input_tokens").Exists() {
		return "input_tokens", "output_tokens"
	}
	return "prompt_tokens", "completion_tokens"
}

// countsOf are the two counts of a usage object; told is whether it has any.
func countsOf(v gjson.Result) (input, output gjson.Result, told bool) {
	in, out := countNames(v)
	input, output = v.Get(in), v.Get(out)
	return input, output, input.Type == gjson.Number || output.Type == gjson.Number
}

// readUsage reads a usage object, of completions or of responses; ok is false for
// null and for anything else without token counts that can be true.
func readUsage(v gjson.Result, generates bool) (u tally, ok bool) {
	input, output := countNames(v)
	if !v.IsObject() || v.Get(input).Type != gjson.Number || generates && v.Get(output).Type != gjson.Number {
		return tally{}, false // a part that is missing is no zero
	}
	u = tally{
		input:     v.Get(input).Int(),
		cached:    v.Get(input + "_details.cached_tokens").Int(),
		output:    v.Get(output).Int(),
		reasoning: v.Get(output + "_details.reasoning_tokens").Int(),
	}
	return u, u.plausible()
}

// report takes a usage object in; the last one counts, since servers may send
// a running total with every event. It reports whether that is believed.
func (m *meter) report(v gjson.Result) bool {
	u, ok := readUsage(v, m.generates)
	if !ok || !m.belief.takesInput(u.input) || !m.belief.takesOutput(u.output, u.input, hiddenOutput(v), m.seen) {
		return false
	}
	m.usage, m.reported, m.unsaid = u, true, 0
	m.toldCached = toldDetail(v, "cached_tokens", "prompt_tokens_details", "input_tokens_details")
	m.toldReasoning = toldDetail(v, "reasoning_tokens", "completion_tokens_details", "output_tokens_details")
	if s := v.Get("queue_time"); s.Type == gjson.Number {
		m.queuedFor(s.Num)
	}
	return true
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

// toldDetail reports whether one of two objects, of completions or of responses,
// has a count.
func toldDetail(v gjson.Result, name string, objects ...string) bool {
	for _, object := range objects {
		if v.Get(object).Get(name).Type == gjson.Number {
			return true
		}
	}
	return false
}

// tokens is what the request is charged.
func (m *meter) tokens() limit.Tokens {
	if m.reported {
		// A report that came before the last output has not counted all of it.
		return limit.Tokens{Input: m.usage.input, Output: m.usage.output + m.unsaid}
	}
	return m.estimate
}

// used is the same with its parts, as far as the upstream told them.
func (m *meter) used() usage.Tokens {
	counts := m.tokens()
	t := usage.Tokens{Input: counts.Input, Output: counts.Output, Estimated: !m.reported}
	if m.reported && m.toldCached {
		t.Cached = optional.Counted(int(m.usage.cached))
	}
	if m.reported && m.toldReasoning {
		t.Reasoning = optional.Counted(int(m.usage.reasoning))
	}
	return t
}

func (m *meter) source() string {
	if m.reported {
		return "usage"
	}
	return "estimated"
}
