package check

import (
	"github.com/tidwall/gjson"
)

// Matcher finds what must not be in a text.
type Matcher interface {
	Match(text string) bool
	// Window returns a look at a text that comes in pieces.
	Window() Window
}

// Window looks at one text that comes in pieces.
type Window interface {
	// Push takes in the next piece and tells whether the text matches. safe is how
	// many of its bytes, from the beginning, no match to come can touch.
	Push(piece string) (matched bool, safe int)
	// End tells whether the text matches, now that nothing follows.
	End() (matched bool)
}

// Filter is a named matcher.
type Filter struct {
	Name    string
	Message string // for the client
	Matcher
}

// Code is the code of errors, and the finish reason, of what a filter stopped.
const Code = "content_filter"

// asked are the fields that the model reads.
var asked = []string{"messages", "prompt", "input", "instructions", "system", "tools", "functions", "response_format", "suffix"}

// Finding is what filters found in a request.
type Finding struct {
	Filter *Filter // that matches; nil for token ids, which no filter can read
	Field  string
}

// Input looks at any text of what the model is asked: messages, their parts, tool
// calls and their results, and tools. It returns nil when there is nothing to
// object to.
func Input(filters []*Filter, body Body) *Finding {
	if len(filters) == 0 {
		return nil
	}
	for _, name := range asked {
		v := body[name]
		if (name == "prompt" || name == "input") && hasTokenIDs(v) {
			return &Finding{Field: name}
		}
		var hit *Filter
		texts(v, func(text string) bool {
			hit = match(filters, text)
			return hit == nil
		})
		if hit != nil {
			return &Finding{Filter: hit, Field: name}
		}
	}
	return nil
}

func match(filters []*Filter, text string) *Filter {
	for _, f := range filters {
		if f.Match(text) {
			return f
		}
	}
	return nil
}

// hasTokenIDs tells a list of numbers, or of such lists.
func hasTokenIDs(v gjson.Result) (found bool) {
	if !v.IsArray() {
		return false
	}
	v.ForEach(func(_, item gjson.Result) bool {
		found = item.Type == gjson.Number || item.IsArray() && item.Get("0").Type == gjson.Number
		return !found
	})
	return found
}

// roles are those that chat templates know. Another one may be written into the
// prompt as it is, and so counts as text.
var roles = map[string]bool{"system": true, "developer": true, "user": true, "assistant": true, "tool": true, "function": true}

// notText are keys whose strings are names, references or media, not language.
var notText = map[string]bool{
	"type": true, "id": true, "tool_call_id": true, "call_id": true, "item_id": true, "detail": true, "format": true,
	"image_url": true, "url": true, "data": true, "file_data": true, "file_id": true, "audio_url": true, "video_url": true, "encrypted_content": true,
}

// texts yields every string in a value that is language; false from yield ends it.
func texts(v gjson.Result, yield func(string) bool) (more bool) {
	switch {
	case v.Type == gjson.String:
		return yield(v.Str)
	case v.IsObject(), v.IsArray():
		more = true
		v.ForEach(func(key, value gjson.Result) bool {
			if key.Type == gjson.String && (notText[key.Str] || key.Str == "role" && roles[value.Str]) {
				return true
			}
			more = texts(value, yield)
			return more
		})
		return more
	}
	return true
}

// Output returns the first filter that an answer matches. part is the part of it
// that was generated: choices or output.
func Output(filters []*Filter, part gjson.Result) (hit *Filter) {
	texts(part, func(text string) bool {
		hit = match(filters, text)
		return hit == nil
	})
	return hit
}
