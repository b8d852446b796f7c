package anthropic

import (
	"strconv"

	"github.com/tidwall/gjson"
)

// usage is the vendor's count of tokens. Input leaves out what the prompt cache
// served or took in; in a stream the counts of later events replace earlier ones.
type usage struct {
	input, cacheRead, cacheWrite, output int64
	thinking                             int64 // of output
	known                                bool
}

func (u *usage) read(v gjson.Result) {
	v.ForEach(func(key, value gjson.Result) bool {
		if key.Str == "output_tokens_details" {
			u.thinking = value.Get("thinking_tokens").Int()
		}
		if value.Type != gjson.Number {
			return true // fields that do not apply are null, and say nothing
		}
		switch key.Str {
		case "input_tokens":
			u.input, u.known = value.Int(), true
		case "cache_read_input_tokens":
			u.cacheRead = value.Int()
		case "cache_creation_input_tokens":
			u.cacheWrite = value.Int()
		case "output_tokens":
			u.output, u.known = value.Int(), true
		}
		return true
	})
}

// most is the largest count that can be true; sums of several stay far from
// overflow.
const most = 1 << 40

// append writes OpenAI's usage object, null without counts that can be true. All
// input counts as prompt, and what the cache served is cached.
func (u *usage) append(dst []byte) []byte {
	if !u.plausible() {
		return append(dst, "null"...)
	}
	prompt := u.prompt()
	dst = strconv.AppendInt(append(dst, `{"prompt_tokens":`...), prompt, 10)
	dst = strconv.AppendInt(append(dst, `,"completion_tokens":`...), u.output, 10)
	dst = strconv.AppendInt(append(dst, `,"total_tokens":`...), prompt+u.output, 10)
	dst = strconv.AppendInt(append(dst, `,"prompt_tokens_details":{"cached_tokens":`...), u.cacheRead, 10)
	dst = strconv.AppendInt(append(dst, `},"completion_tokens_details":{"reasoning_tokens":`...), min(max(u.thinking, 0), u.output), 10)
	return append(dst, "}}"...)
}

func (u *usage) prompt() int64 { return u.input + u.cacheRead + u.cacheWrite }

func (u *usage) plausible() bool {
	for _, n := range []int64{u.input, u.cacheRead, u.cacheWrite, u.output} {
		if n < 0 || n > most {
			return false
		}
	}
	return u.known
}

// finishReason is OpenAI's word for why the answer ended.
func finishReason(stop string) string {
	switch stop {
	case "max_tokens", "model_context_window_exceeded":
		return "length"
	case "tool_use":
		return "tool_calls"
	case "refusal":
		return "content_filter"
	}
	return "stop" // end_turn, stop_sequence, pause_turn
}
