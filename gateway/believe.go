package gateway

import (
	"slices"
	"time"

	"github.com/tidwall/gjson"
)

// What an upstream says that it used is money of a tenant's, and nobody checks it but
// the gateway. It holds a report against what can be true of the request, the target
// and the answer, and believes its own count where the report cannot be.

const (
	// largestCount is the most tokens of one kind that a request is believed to have
	// used, whatever it is: more than any context holds.
	largestCount = 1 << 24
	// templateTokens is what a server may add to a prompt of its own: a chat template
	// with a system prompt, the rules for calling tools. Anthropic's documentation of
	// tool use names up to about 700 for the latter, and templates of open models have
	// fewer.
	templateTokens = 4096
	// longestAnswer is the output that is believed of one answer when neither the
	// request, the alias nor the target bounds it: no model of today writes more
	// (OpenAI's and Anthropic's model pages name at most 128,000 tokens).
	longestAnswer = 1 << 17
	// unseenTokens are the tokens of an answer that leave no text behind, such as end
	// marks, roles and channels.
	unseenTokens = 64
)

// belief bounds the usage that is believed of one try.
type belief struct {
	text    int64 // input tokens that the body can be; 0 where the prompt is not all text in it
	context int64 // tokens that fit the target; 0 where that is not known, or a request takes several turns
	asked   int64 // output tokens that the request may have; 0 when nothing bounds it
	prompts int64 // in one request
	answers int64 // to all of them together
	shown   bool  // all output but what the usage tells apart shows in the answer
}

// belief returns what can be true of the request's usage at a target.
func (q *request) belief(t *target) belief {
	b := belief{
		asked:   min(q.maxTokens, largestCount) * min(q.generated, largestCount),
		prompts: promptCount(q.fields["prompt"]) * promptCount(q.fields["input"]), answers: q.generated,
	}
	turns := q.takesTurns()
	if q.textOnly && !turns {
		b.text = int64(len(q.body)) + templateTokens
	}
	if !turns {
		b.context = t.context
	}
	if _, vendor := t.provider.kind.(messages); vendor { // whose thinking may be hidden and is not always told
		if b.asked == 0 {
			b.asked = vendorMaxTokens
		}
		return b
	}
	b.shown = !turns
	return b
}

// takesInput reports whether so much can be the input. A token is at least one byte of
// the text, for tokenizers fall back to single bytes, and the JSON around a message is
// longer than what a template writes in its place. The tokens of images, sound, files
// and of what the server looks up itself have no such bound.
func (b *belief) takesInput(n int64) bool {
	return n <= largestCount && (b.text == 0 || n <= b.text) && (b.context == 0 || n <= b.context*b.prompts)
}

// takesOutput reports whether so much can be the output beside so much input; told is
// the part of it that the report says not to be in the answer, −1 where it says nothing
// of that, and seen the bytes of output that came.
//
// Servers count differently, some of them tokens that they drop, so twice as much is
// believed as the request allowed. Reasoning that is hidden and not told apart can be
// as long as the request, the alias and the context allow, and is to be paid for. Where
// the report tells how much there is of it, the rest must show, and the request bounds
// that rest only: there are vendors whose max_tokens is for the answer alone.
func (b *belief) takesOutput(n, input, told, seen int64) bool {
	if n > largestCount {
		return false
	}
	seen = min(seen, largestCount)*min(b.answers, largestCount) + unseenTokens
	if b.shown && told >= 0 && n-told > seen {
		return false
	}
	if b.context > 0 && n > b.answers*max(b.context-input/max(b.prompts, 1), 0) {
		return false
	}
	if b.shown && told > 0 {
		n -= told
		if b.context == 0 && told > longestAnswer*b.answers {
			return false
		}
	}
	if b.asked > 0 {
		return n <= 2*b.asked+unseenTokens
	}
	return b.context > 0 || n <= max(longestAnswer*b.answers, seen)
}

// hiddenOutput is what a usage object says to be output that the answer does not show:
// reasoning, and tokens of a prediction that was wrong; −1 where it does not tell.
func hiddenOutput(v gjson.Result) int64 {
	n, told := toldReasoning(v)
	if !told {
		return -1
	}
	dropped, _ := firstCount(v, "completion_tokens_details.rejected_prediction_tokens", "output_tokens_details.rejected_prediction_tokens")
	return n + dropped
}

// turnFields are those by which a request asks for work of the server's own, or goes on
// from what it keeps: prompts then hold what nobody sees here, and one request can take
// several turns of the model, each with the whole context. The names are OpenAI's,
// Azure's (data_sources), xAI's (search_parameters) and OpenRouter's (plugins).
var turnFields = []string{"web_search_options", "previous_response_id", "conversation", "data_sources", "search_parameters", "plugins"}

// takesTurns tells whether the request asks for work of the server's own.
func (q *request) takesTurns() bool {
	for _, name := range turnFields {
		if v := q.top[name]; v.Type != gjson.Null {
			return true
		}
	}
	if q.top["prompt"].IsObject() { // a template that is kept at the server
		return true
	}
	hosted := false
	q.fields["tools"].ForEach(func(_, tool gjson.Result) bool {
		kind := tool.Get("type")
		hosted = kind.Exists() && !slices.Contains(ownTools, kind.Str)
		return !hosted
	})
	return hosted
}

// ownTools are the types of tools that the client runs itself.
var ownTools = []string{"function", "custom"}

// report takes a usage object in, and says in the log when it cannot be true: now and
// then for each deployment, since one that counts wrong does so with each request.
func (x *exchange) report(v gjson.Result) {
	if !v.IsObject() {
		return // as of nearly all events
	}
	input, output, told := countsOf(v)
	if x.spent.report(v) || !told || input.Num+output.Num == 0 { // zeros are of those that do not count
		return
	}
	now := x.g.now()
	last := x.try.target.doubted.Load()
	if now.UnixNano()-last < int64(doubtsApart) || !x.try.target.doubted.CompareAndSwap(last, now.UnixNano()) {
		return
	}
	x.g.log.Warn("usage that an upstream reports cannot be, the gateway's own count holds",
		"request_id", x.id, "deployment", x.try.target.name, "input_tokens", input.Int(), "output_tokens", output.Int(), "output_bytes", x.spent.seen)
}

// doubtsApart is the least time between two warnings of usage of one deployment.
const doubtsApart = time.Minute
