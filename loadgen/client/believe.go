package client

import (
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/reports/record"
)

// disbelieve takes as absent what the server counted when its counts contradict
// each other, the request or the events.
func (x *exchange) disbelieve() {
	a, r := &x.answer, x.record
	prompt, promptKnown := r.Input.Value()
	if cached, known := r.Cached.Value(); known && promptKnown && cached > prompt {
		r.Input, r.Cached, r.UsageImplausible = 0, 0, true
	}
	if n, known := r.Output.Value(); known && len(a.times) > 0 && !x.believable(n) {
		r.Output, r.TokensSource, r.UsageImplausible = 0, "", true
		a.blind = true
	}
}

// sparse is how many events with output a token may have come in. Proxies that
// write an answer again letter by letter send four to five.
const sparse = 6

// believable reports whether an answer that holds output may be of n tokens: not
// of none, nor of many fewer than it has events, nor of more than were asked for
// or than its bytes could carry. Reasoning may be hidden, and not part of what
// was asked for.
func (x *exchange) believable(n int) bool {
	a := &x.answer
	if n < 1 || len(a.times) > sparse*n {
		return false
	}
	reasoning, _ := a.reasoning.Value()
	if n-reasoning > a.received {
		return false
	}
	if asked, known := x.record.AskedOutput.Value(); n <= len(a.times) || known && n <= asked {
		return true // saves a look at the body
	}
	limit := ceiling(x.body)
	return limit == 0 || n <= limit+limit/8+reasoning+slack
}

// slack is how many tokens more than were asked for are an other way to count:
// those that end an answer, or open and close its parts.
const slack = 16

// ceiling is the most tokens that a body allows its answer, 0 when it sets no
// limit.
func ceiling(body []byte) int {
	limit, choices := 0, 1
	gjson.ParseBytes(body).ForEach(func(key, value gjson.Result) bool {
		switch key.String() {
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			limit = max(limit, count(value))
		case "n", "best_of":
			choices = max(choices, count(value))
		}
		return true
	})
	return limit * choices
}

// count is a number of a body, bounded so that products of two do not overflow.
func count(v gjson.Result) int { return int(min(max(v.Num, 0), 1<<30)) }

// usage notes the server's count of tokens, of which the last one counts.
func (x *exchange) usage() {
	r, u := x.record, &x.answer.chunk.Usage
	if u.Prompt.Known() {
		r.Input = u.Prompt
	}
	if u.Cached.Known() {
		r.Cached = u.Cached
	}
	if u.Reasoning.Known() {
		x.answer.reasoning = u.Reasoning
	}
	if u.Completion.Known() {
		r.Output, r.TokensSource = u.Completion, record.FromUsage
	}
	r.UsageImplausible = r.UsageImplausible || u.Implausible
}
