package check

import (
	"fmt"

	"github.com/tidwall/gjson"
)

// input checks what the model is asked: messages, prompt or input.
func input(path string, body Body) *Problem {
	switch path {
	case chatPath:
		return messages(body["messages"])
	case completionPath:
		if !present(body["prompt"]) && !present(body["prompt_embeds"]) { // the latter is vLLM's
			return missing("prompt")
		}
		return prompts("prompt", body["prompt"])
	case embeddingPath:
		if !present(body["input"]) && !present(body["messages"]) { // vLLM embeds chats, too
			return missing("input")
		}
	case responsesPath:
		if !present(body["input"]) && !present(body["prompt"]) && !present(body["previous_response_id"]) {
			return missing("input")
		}
	}
	return nil
}

// prompts are a string, token ids, or a list of either.
func prompts(param string, v gjson.Result) (p *Problem) {
	if !present(v) || v.Type == gjson.String {
		return nil
	}
	if !v.IsArray() {
		return wrongType(param, "a string or an array", v)
	}
	if v.Get("#").Int() == 0 {
		return wrongValue(param, "expected at least one prompt")
	}
	v.ForEach(func(_, item gjson.Result) bool {
		if item.Type != gjson.String && item.Type != gjson.Number && !item.IsArray() {
			p = wrongType(param, "strings or token ids", item)
		}
		return p == nil
	})
	return p
}

func messages(v gjson.Result) (p *Problem) {
	if !present(v) {
		return missing("messages")
	}
	if !v.IsArray() {
		return wrongType("messages", "an array of objects", v)
	}
	i := 0
	v.ForEach(func(_, message gjson.Result) bool {
		if !plain(message) {
			p = checkMessage(fmt.Sprintf("messages[%d]", i), message)
		}
		i++
		return p == nil
	})
	if p == nil && i == 0 {
		return wrongValue("messages", "expected at least one message")
	}
	return p
}

// plain tells a message of a user or the system in plain text, as most are: there
// is nothing more to check about it, nor a place to name.
func plain(m gjson.Result) bool {
	switch m.Get("role").Str {
	case "user", "system", "developer":
		return m.IsObject() && m.Get("content").Type == gjson.String
	}
	return false
}

// checkMessage looks at one message. Roles are not limited to OpenAI's, since
// chat templates have more; what a role of theirs needs is asked for.
func checkMessage(param string, m gjson.Result) *Problem {
	if !m.IsObject() {
		return wrongType(param, "an object", m)
	}
	role, content := m.Get("role"), m.Get("content")
	switch {
	case !present(role):
		return missing(param + ".role")
	case role.Type != gjson.String:
		return wrongType(param+".role", "a string", role)
	case role.Str == "":
		return wrongValue(param+".role", "expected system, developer, user, assistant or tool")
	case role.Str == "tool":
		if id := m.Get("tool_call_id"); !present(id) {
			return missing(param + ".tool_call_id")
		} else if id.Type != gjson.String {
			return wrongType(param+".tool_call_id", "a string", id)
		}
	case role.Str == "assistant":
		if p := toolCalls(param+".tool_calls", m.Get("tool_calls")); p != nil {
			return p
		}
	case (role.Str == "user" || role.Str == "system" || role.Str == "developer") && !present(content):
		return missing(param + ".content")
	}
	return checkContent(param+".content", content)
}

// checkContent takes text, null, or a list of parts. Parts of types that are not
// known here pass: engines differ in what media they take.
func checkContent(param string, v gjson.Result) (p *Problem) {
	if !present(v) || v.Type == gjson.String {
		return nil
	}
	if !v.IsArray() {
		return wrongType(param, "a string or an array of objects", v)
	}
	i := 0
	v.ForEach(func(_, part gjson.Result) bool {
		p = checkPart(fmt.Sprintf("%s[%d]", param, i), part)
		i++
		return p == nil
	})
	return p
}

func checkPart(param string, part gjson.Result) *Problem {
	if part.Type == gjson.String {
		return nil // vLLM takes bare strings
	}
	if !part.IsObject() {
		return wrongType(param, "an object", part)
	}
	kind := part.Get("type")
	if present(kind) && kind.Type != gjson.String {
		return wrongType(param+".type", "a string", kind)
	}
	switch kind.Str {
	case "text":
		if text := part.Get("text"); !present(text) {
			return missing(param + ".text")
		} else if text.Type != gjson.String {
			return wrongType(param+".text", "a string", text)
		}
	case "image_url":
		url := part.Get("image_url")
		if !present(url) {
			return missing(param + ".image_url")
		}
		if url.IsObject() && !present(url.Get("url")) {
			return missing(param + ".image_url.url")
		}
	}
	return nil
}

// toolCalls are those that an assistant's message says it made.
func toolCalls(param string, v gjson.Result) (p *Problem) {
	if !present(v) {
		return nil
	}
	if !v.IsArray() {
		return wrongType(param, "an array of objects", v)
	}
	i := 0
	v.ForEach(func(_, call gjson.Result) bool {
		at := fmt.Sprintf("%s[%d]", param, i)
		i++
		switch function := call.Get("function"); {
		case !call.IsObject():
			p = wrongType(at, "an object", call)
		case function.Exists() && !function.IsObject():
			p = wrongType(at+".function", "an object", function)
		case function.IsObject() && function.Get("name").Type != gjson.String:
			p = missing(at + ".function.name")
		}
		return p == nil
	})
	return p
}
