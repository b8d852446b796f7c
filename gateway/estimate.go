package gateway

import "github.com/tidwall/gjson"

const (
	// bytesPerToken is the usual rule of thumb for English text and the
	// tokenizers of today (OpenAI's help centre: "1 token ~= 4 chars").
	bytesPerToken = 4
	// imageTokens is what OpenAI's guide to images charges for 1024×1024 in
	// high detail: 85 + 4 tiles of 170.
	imageTokens = 765
	// assumedOutput is reserved for a request without any output limit; usage
	// replaces it at the end.
	assumedOutput = 1024
)

// estimateInput guesses the tokens of a prompt, for a reservation that is
// settled to real usage later. It counts text, tools and images, not the JSON
// around them: an image inlined as base64 has megabytes, not millions of tokens.
func estimateInput(fields map[string]gjson.Result) (int64, bool) {
	bytes, tokens := promptSize(fields["prompt"])
	parts := 0
	fields["messages"].ForEach(func(_, message gjson.Result) bool {
		b, t := contentSize(message.Get("content"))
		bytes += b + len(message.Get("tool_calls").Raw)
		parts += t
		if message.Get("audio").IsObject() { // a sound that the server has under an id
			parts += imageTokens
		}
		return true
	})
	bytes += len(fields["tools"].Raw) + len(fields["functions"].Raw)
	return textTokens(bytes) + int64(tokens+parts), parts == 0
}

// estimateEmbedding guesses the tokens of what is to be embedded.
func estimateEmbedding(fields map[string]gjson.Result) (int64, bool) {
	input := fields["input"]
	bytes, tokens := promptSize(input)
	return textTokens(bytes) + int64(tokens), !input.IsObject() && !input.Get("0").IsObject()
}

// estimateResponse guesses the tokens of a request of the Responses API: a text,
// or items with content.
func estimateResponse(fields map[string]gjson.Result) (int64, bool) {
	bytes, tokens := len(fields["instructions"].Str)+len(fields["tools"].Raw), 0
	if input := fields["input"]; input.Type == gjson.String {
		bytes += len(input.Str)
	} else {
		input.ForEach(func(_, item gjson.Result) bool {
			b, t := contentSize(item.Get("content"))
			bytes += b + len(item.Get("arguments").Str) + len(item.Get("output").Str)
			tokens += t
			if item.Get("type").Str == "item_reference" { // what the server has under an id
				tokens += imageTokens
			}
			return true
		})
	}
	return textTokens(bytes) + int64(tokens), tokens == 0
}

// textTokens guesses the tokens of so many bytes of text.
func textTokens(bytes int) int64 { return int64((bytes + bytesPerToken - 1) / bytesPerToken) }

// promptSize reads prompt: a string, strings, token ids, or lists of ids.
func promptSize(v gjson.Result) (bytes, tokens int) {
	switch {
	case v.Type == gjson.String:
		return len(v.Str), 0
	case v.Type == gjson.Number:
		return 0, 1
	case !v.IsArray():
		return 0, 0
	}
	v.ForEach(func(_, item gjson.Result) bool {
		b, t := promptSize(item)
		bytes += b
		tokens += t
		return true
	})
	return bytes, tokens
}

// promptCount is how many prompts a completion request holds: a list of strings
// or of lists is several, a list of token ids is one.
func promptCount(v gjson.Result) int64 {
	if first := v.Get("0"); first.Type == gjson.String || first.IsArray() {
		return v.Get("#").Int()
	}
	return 1
}

// contentSize reads a message's content: a string, or parts of text and images.
func contentSize(v gjson.Result) (bytes, tokens int) {
	if v.Type == gjson.String {
		return len(v.Str), 0
	}
	v.ForEach(func(_, part gjson.Result) bool {
		if text := part.Get("text"); text.Exists() {
			bytes += len(text.Str)
		} else {
			tokens += imageTokens
		}
		return true
	})
	return bytes, tokens
}
