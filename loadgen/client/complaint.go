package client

import (
	"regexp"
	"strings"

	"github.com/tidwall/gjson"
)

// complaint is what an error page says of the request, without what it repeats
// of it. That are the members below of a JSON document, be it OpenAI's error
// object (message, param, code) or FastAPI's list (detail: loc, msg, and input,
// which is left out); or else the whole text.
func complaint(page []byte) string {
	var said []string
	if root := gjson.ParseBytes(page); root.IsObject() || root.IsArray() {
		collect(root, 0, &said)
	} else {
		said = append(said, string(page))
	}
	return withoutInput(strings.Join(said, "\n"))
}

// spoken are the members of an error that say what is wrong, or lead there.
var spoken = map[string]bool{
	"error": true, "errors": true, "detail": true, "details": true,
	"message": true, "msg": true, "param": true, "code": true, "loc": true, "title": true,
}

// maxDepth is how deep an error is looked into.
const maxDepth = 8

// collect appends the texts of the spoken members. The document may have been cut
// off.
func collect(v gjson.Result, depth int, said *[]string) {
	if v.Type == gjson.String {
		*said = append(*said, v.Str)
	}
	if v.Type != gjson.JSON || depth == maxDepth {
		return
	}
	v.ForEach(func(key, member gjson.Result) bool {
		if v.IsArray() || spoken[key.Str] {
			collect(member, depth+1, said)
		}
		return true
	})
}

// echoed finds where a text quotes an input: the errors of pydantic v2 as Python
// or JSON shows them ('input': …), or in its own words (input_value=…).
var echoed = regexp.MustCompile(`['"]input['"]:\s*|\binput_value=`)

// withoutInput leaves out what a text quotes of the input.
func withoutInput(text string) string {
	var kept strings.Builder
	for {
		at := echoed.FindStringIndex(text)
		if at == nil {
			kept.WriteString(text)
			return kept.String()
		}
		kept.WriteString(text[:at[0]])
		if text[at[1]-1] == '=' { // shortened in its middle, so no literal
			_, text, _ = strings.Cut(text[at[1]:], "input_type=")
			continue
		}
		text = text[at[1]+literal(text[at[1]:]):]
	}
}

// literal is the length of a value of Python or JSON at the start of a text: all
// of it up to the comma or bracket that ends it.
func literal(text string) int {
	depth, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0 && c == '\\':
			i++
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
		case c == '\'' || c == '"':
			quote = c
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case depth == 0 && strings.IndexByte(",)]}", c) >= 0:
			return i
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		}
	}
	return len(text)
}
