package conform

import (
	"encoding/json"
	"maps"
)

// The paths of the API.
const (
	chatPath        = "/v1/chat/completions"
	completionsPath = "/v1/completions"
	embeddingsPath  = "/v1/embeddings"
	responsesPath   = "/v1/responses"
)

// members are the members of a JSON object.
type members map[string]any

// drop is the value of a member that is to be left out.
var drop = struct{}{}

// plainTokens is how long the plain answer may be.
const plainTokens = 32

// plainPrompt is what the plain request asks: any model has more than
// plainTokens to say to it.
const plainPrompt = "Count from one to fifty in words, separated by spaces."

// user is the messages of a chat with one turn.
func user(text string) []members { return []members{{"role": "user", "content": text}} }

// chat is the body of the plain request, with changes.
func (p *probe) chat(changes members) string {
	body := members{"model": p.model, "messages": user(plainPrompt), "max_tokens": plainTokens, "temperature": 0, "seed": 1}
	maps.Copy(body, changes)
	maps.DeleteFunc(body, func(_ string, v any) bool { return v == drop })
	return encode(body)
}

func encode(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own values always marshal
	}
	return string(text)
}
