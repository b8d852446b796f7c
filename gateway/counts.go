package gateway

import "github.com/tidwall/gjson"

// tally holds the counts of a usage object. Reasoning tokens are part of output, which
// is all that was generated.
type tally struct{ input, cached, output, reasoning int64 }

// plausible reports whether the counts can be those of a request. No request has
// neither a prompt nor an answer: servers that do not count say so with zeros.
func (u tally) plausible() bool {
	return u.input+u.output > 0 && u.cached >= 0 && u.cached <= u.input && u.input <= largestCount && u.output >= 0 && u.output <= largestCount &&
		u.reasoning >= 0 && u.reasoning <= u.output
}

// style is what one API calls the counts of its usage.
type style struct{ input, output, inputParts, outputParts string }

// styles are those of completions and of responses. Some gateways, new-api and one-api
// among them, write both into one object and count in one of them only.
var styles = [...]style{
	{"input_tokens", "output_tokens", "input_tokens_details", "output_tokens_details"},
	{"prompt_tokens", "completion_tokens", "prompt_tokens_details", "completion_tokens_details"},
}

// styleOf is the style in which a usage object counts: of two the one that counts more,
// since the other leaves something out.
func styleOf(v gjson.Result) style {
	best, most := styles[1], -1.0
	for _, s := range styles {
		input, output := v.Get(s.input), v.Get(s.output)
		if input.Type != gjson.Number && output.Type != gjson.Number {
			continue
		}
		if n := input.Num + output.Num; n > most {
			best, most = s, n
		}
	}
	return best
}

// countsOf are the two counts of a usage object; told is whether it has any.
func countsOf(v gjson.Result) (input, output gjson.Result, told bool) {
	if !v.IsObject() {
		return input, output, false
	}
	s := styleOf(v)
	input, output = v.Get(s.input), v.Get(s.output)
	return input, output, input.Type == gjson.Number || output.Type == gjson.Number
}

// readUsage reads a usage object, of completions or of responses; ok is false for
// null and for anything else without token counts that can be true.
func readUsage(v gjson.Result, generates bool) (u tally, ok bool) {
	input, output, told := countsOf(v)
	if !told || input.Type != gjson.Number || generates && output.Type != gjson.Number {
		return tally{}, false // a part that is missing is no zero
	}
	u = tally{input: input.Int(), output: output.Int()}
	u.cached, _ = toldCached(v)
	u.reasoning, _ = toldReasoning(v)
	if besides(v, u) {
		u.output += u.reasoning
	}
	return u, u.plausible()
}

// besides tells whether reasoning is counted on top of the output, as xAI does (its API
// reference, "usage": a prompt of 32, a completion of 9 and reasoning of 94 are 135 in
// all). Only the total can tell: without one, reasoning is part of the output as OpenAI
// has it.
func besides(v gjson.Result, u tally) bool {
	total := v.Get("total_tokens")
	return u.reasoning > 0 && u.reasoning <= largestCount && total.Type == gjson.Number && total.Num == float64(u.input+u.output+u.reasoning)
}

// toldCached is how much of the input a cache served: in OpenAI's two places, in
// DeepSeek's (its API reference, prompt_cache_hit_tokens), or in Moonshot's, at the top.
func toldCached(v gjson.Result) (n int64, told bool) {
	return firstCount(v, "prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens")
}

// toldReasoning is how much of the output nobody sees: in OpenAI's two places, or in
// SGLang's, at the top.
func toldReasoning(v gjson.Result) (n int64, told bool) {
	return firstCount(v, "completion_tokens_details.reasoning_tokens", "output_tokens_details.reasoning_tokens", "reasoning_tokens")
}

// firstCount is the first of several counts that is not zero; told is whether there is
// any, be it zero.
func firstCount(v gjson.Result, paths ...string) (n int64, told bool) {
	for _, path := range paths {
		if c := v.Get(path); c.Type == gjson.Number {
			if told = true; c.Int() != 0 {
				return c.Int(), true
			}
		}
	}
	return 0, told
}
