package gateway

import (
	"slices"

	"github.com/tidwall/gjson"
)

const (
	// bytesPerToken is the usual rule of thumb for English text and the
	// tokenizers of today (OpenAI's help centre: "1 token ~= 4 chars").
	bytesPerToken = 4
	// imageTokens is what OpenAI's guide to images charges for 1024×1024 in
	// high detail: 85 + 4 tiles of 170.
	imageTokens = 765
	// mediaTokens is counted for sound, video and files at least.
	mediaTokens = imageTokens
	// mediaPerToken are the bytes of base64 to a token of sound, video or files: ten
	// tokens a second (OpenAI's guide to audio) of sound at 128 kbit/s.
	mediaPerToken = 2048
	// restPerToken is for fields of which nobody knows whether a prompt shows them.
	restPerToken = 16
	// assumedOutput is reserved for a request without any output limit; usage
	// replaces it at the end.
	assumedOutput = 1024
)

// size is what is known of a prompt's length.
type size struct {
	bytes int // of text
	ids   int // tokens that are written as such
	media int // tokens of images, sound, video and files
	rest  int // bytes of fields that an engine may put into a prompt, or leave out
}

// tokens guesses the tokens, and tells whether they are all text in the request.
func (s *size) tokens() (n int64, textOnly bool) {
	return textTokens(s.bytes) + int64(s.ids+s.media+s.rest/restPerToken), s.media == 0
}

// estimateInput guesses the tokens of a prompt, for a reservation that is
// settled to real usage later. It counts text, tools and media, not the JSON
// around them: an image inlined as base64 has megabytes, not millions of tokens.
func estimateInput(fields map[string]gjson.Result) (int64, bool) {
	return estimateOf(fields, "prompt")
}

// estimateEmbedding guesses the tokens of what is to be embedded: texts, ids, or
// messages as vLLM takes them.
func estimateEmbedding(fields map[string]gjson.Result) (int64, bool) {
	return estimateOf(fields, "input")
}

// estimateOf guesses the tokens of a prompt in a field of its own, or in messages.
func estimateOf(fields map[string]gjson.Result, prompt string) (int64, bool) {
	var s size
	s.prompt(fields[prompt])
	fields["messages"].ForEach(func(_, message gjson.Result) bool {
		s.message(message)
		return true
	})
	s.others(fields, prompt, "messages")
	return s.tokens()
}

// estimateResponse guesses the tokens of a request of the Responses API: a text,
// or items with content.
func estimateResponse(fields map[string]gjson.Result) (int64, bool) {
	var s size
	s.content(fields["instructions"])
	if input := fields["input"]; input.Type == gjson.String {
		s.bytes += len(input.Str)
	} else {
		input.ForEach(func(_, item gjson.Result) bool {
			if s.message(item); item.Get("type").Str == "item_reference" { // what the server has under an id
				s.media += mediaTokens
			}
			return true
		})
	}
	s.others(fields, "instructions", "input")
	return s.tokens()
}

// textTokens guesses the tokens of so many bytes of text.
func textTokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }

// printed are the fields whose JSON engines print into prompts: tools, documents that
// chat templates take, and schemas, which they print, or compile at a like cost.
var printed = []string{"tools", "functions", "documents", "response_format", "text", "prediction", "suffix", "chat_template", "chat_template_kwargs",
	"structured_outputs", "json_schema", "regex", "ebnf", "guided_json", "guided_regex", "guided_grammar", "guided_choice", "system"}

// unprinted are the fields that no engine puts into a prompt.
var unprinted = []string{"model", "user", "metadata", "safety_identifier", "prompt_cache_key", "cache_salt", "stop", "logit_bias", "stream_options"}

// ofOneKind is about what {"type":"json_object"} has: a field without more says what kind
// of answer is wanted, and no prompt shows it.
const ofOneKind = 64

// others counts the fields but those that are read already: such as are printed as text,
// and of such as nobody here knows a part.
func (s *size) others(fields map[string]gjson.Result, read ...string) {
	for name, v := range fields {
		switch {
		case v.Type != gjson.JSON && v.Type != gjson.String, slices.Contains(read, name), slices.Contains(unprinted, name):
		case name == "tools", name == "functions":
			s.bytes += len(v.Raw)
		case len(v.Raw) <= ofOneKind:
		case slices.Contains(printed, name):
			s.bytes += len(v.Raw)
		default:
			s.rest += len(v.Raw)
		}
	}
}

// prompt reads prompt or input: a string, strings, token ids, lists of ids, or parts.
func (s *size) prompt(v gjson.Result) {
	switch {
	case v.Type == gjson.String:
		s.bytes += len(v.Str)
	case v.Type == gjson.Number:
		s.ids++
	case v.IsObject():
		s.part(v)
	case v.IsArray():
		v.ForEach(func(_, item gjson.Result) bool {
			s.prompt(item)
			return true
		})
	}
}

// promptCount is how many prompts a completion request holds: a list of token ids is
// one, and one with anything else in it is as many as it is long.
func promptCount(v gjson.Result) int64 {
	if !v.IsArray() {
		return 1
	}
	n, ids := int64(0), true
	v.ForEach(func(_, item gjson.Result) bool {
		n++
		ids = ids && item.Type == gjson.Number
		return true
	})
	if ids {
		return 1
	}
	return n
}

// message reads a message, or an item of a response's input. Whatever it has beside its
// content counts: calls of tools, their results, thoughts that go back.
func (s *size) message(v gjson.Result) {
	if !v.IsObject() {
		s.content(v)
		return
	}
	if isMedia(v.Get("type").Str) {
		s.part(v)
		return
	}
	v.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "role", "type", "id", "call_id", "tool_call_id", "status", "index", "cache_control":
		case "tool_calls", "function_call":
			s.bytes += len(value.Raw)
		case "audio": // a sound that the server has under an id
			if value.IsObject() {
				s.media += mediaTokens
			}
		default:
			s.content(value)
		}
		return true
	})
}
