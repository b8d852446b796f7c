package cache

import (
	"crypto/sha256"
	"strings"

	"github.com/tidwall/gjson"
)

// maxQuestion is the longest question that is compared by meaning, in bytes.
// Embeddings of longer texts blur what they ask.
const maxQuestion = 2048

// Semantic says why a request can not be answered by the answer to a similar
// one, or "", and then what it asks: the text of its only user message. It must
// be a chat of system messages and one message of the user, in text alone,
// without tools, and must not ask about the present.
func (c Control) Semantic(path string, body map[string]gjson.Result) (question string, reason Bypass) {
	if reason := c.bypass(path); reason != "" {
		return "", reason
	}
	if path != "/v1/chat/completions" {
		return "", BypassPath
	}
	for _, name := range []string{"tools", "functions", "web_search_options", "plugins"} {
		if v := body[name]; v.Exists() && v.Type != gjson.Null && v.Raw != "[]" {
			return "", BypassTools
		}
	}
	if n := body["n"]; n.Exists() && n.Type != gjson.Null && n.Num != 1 {
		return "", BypassChoices
	}
	body["messages"].ForEach(func(_, message gjson.Result) bool {
		question, reason = nextMessage(question, message)
		return reason == ""
	})
	switch {
	case reason != "":
	case strings.TrimSpace(question) == "" || len(question) > maxQuestion:
		reason = BypassContent
	case dependsOnTime(question):
		reason = BypassTime
	}
	return question, reason
}

// nextMessage reads one message after the question so far.
func nextMessage(question string, message gjson.Result) (string, Bypass) {
	switch role := message.Get("role").Str; {
	case role == "system" || role == "developer":
		if question != "" {
			return "", BypassTurns
		}
		return "", ""
	case role == "user" && question == "":
		text, ok := onlyText(message.Get("content"))
		if !ok || text == "" {
			return "", BypassContent
		}
		return text, ""
	case role == "tool" || role == "function":
		return "", BypassTools
	}
	return "", BypassTurns
}

// onlyText joins the text of a message; ok is false when it holds anything else.
func onlyText(content gjson.Result) (text string, ok bool) {
	if content.Type == gjson.String {
		return content.Str, true
	}
	var parts []string
	ok = content.IsArray()
	content.ForEach(func(_, part gjson.Result) bool {
		ok = ok && part.Get("type").Str == "text" && part.Get("text").Type == gjson.String
		parts = append(parts, part.Get("text").Str)
		return ok
	})
	return strings.Join(parts, "\n"), ok
}

// Space is the key of all requests that differ in nothing but the user's
// question: the same tenant, alias, system prompt and parameters. The question's
// own message counts by all but its content. ok is false when the body is not
// fit for a canonical form.
func (s Scope) Space(body []byte) (space Key, ok bool) {
	if len(body) > MaxBody {
		return space, false
	}
	out := s.appendTo(make([]byte, 0, len(body)+256), "semantic")
	out, ok = Canonical(out, body, func(key []byte) bool { return string(key) == "messages" || isUnrelated(key) })
	if !ok {
		return space, false
	}
	gjson.GetBytes(body, "messages").ForEach(func(_, message gjson.Result) bool {
		var skip func([]byte) bool
		if message.Get("role").Str == "user" {
			skip = func(key []byte) bool { return string(key) == "content" }
		}
		out, ok = Canonical(out, []byte(message.Raw), skip)
		return ok
	})
	return sha256.Sum256(out), ok
}

// Entry is the key of one question in a space.
func (space Key) Entry(question string) Key { return sha256.Sum256(append(space[:], question...)) }

// presentWords make an answer depend on when it is given.
var presentWords = setOf(
	"now", "today", "tonight", "tomorrow", "yesterday", "currently", "current", "latest", "recent", "recently", "newest", "upcoming",
	"nowadays", "ago", "weather", "forecast", "news", "stock", "price", "prices", "clock", "date", "week", "weekend", "month", "year",
	"heute", "jetzt", "gestern", "morgen", "aktuell", "aktuelle", "hoy", "ahora", "ayer", "mañana", "actual", "aujourd", "maintenant", "hier", "demain", "actuel",
)

// dependsOnTime tells a question about the present. It errs on the side of
// asking the model.
func dependsOnTime(question string) bool {
	for _, w := range words(question) {
		if presentWords[w.lower] {
			return true
		}
	}
	lower := strings.ToLower(question)
	return strings.Contains(lower, "what time") || strings.Contains(lower, "which day") || strings.Contains(lower, "what day")
}
