package request

import (
	"encoding/json"
	"strings"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// saying is one thing that was said in a conversation.
type saying struct {
	role  string // system, user, assistant, tool
	text  string
	calls []call // of an assistant
	to    string // of a tool: the id of the call that it answers
}

// call is one call of a tool, as it is in an assistant's message.
type call struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// toolResult answers every call of a tool: the workload knows no tools, only how
// long what they say is on average.
const toolResult = `{"status":"ok","result":"42"}`

// talk is what has been said when a turn is sent. A turn that knows the blocks
// of its prompt holds what was said before in them.
func (w *Writer) talk(s workload.Session, turn int, history []client.Answer) []saying {
	t := &s.Turns[turn]
	if len(t.Hashes) > 0 {
		turn, history = 0, nil
	}
	start := &s.Turns[0]
	if turn == 0 {
		start = t
	}
	talk := make([]saying, 0, 2+3*turn)
	system, user := w.first(s.Index, start)
	if system != "" {
		talk = append(talk, saying{role: "system", text: system})
	}
	talk = append(talk, saying{role: "user", text: user})
	for i := range min(turn, len(history)) {
		talk = appendAnswer(talk, &history[i])
		talk = append(talk, saying{role: "user", text: w.later(s.Index, i+1, &s.Turns[i+1])})
	}
	return talk
}

// appendAnswer appends what an assistant said and, where it called tools, what
// they answered.
func appendAnswer(talk []saying, a *client.Answer) []saying {
	var calls []call
	if len(a.ToolCalls) > 0 && json.Unmarshal(a.ToolCalls, &calls) != nil {
		calls = nil // what can not be read can not be answered
	}
	talk = append(talk, saying{role: "assistant", text: a.Text, calls: calls})
	for i := range calls {
		calls[i].Type = "function"
		talk = append(talk, saying{role: "tool", text: toolResult, to: calls[i].ID})
	}
	return talk
}

// joined is a conversation as one text, for an API that knows no roles.
func joined(talk []saying) string {
	if len(talk) == 1 {
		return talk[0].text
	}
	size := 0
	for i := range talk {
		size += len(talk[i].text) + 1
	}
	var b strings.Builder
	b.Grow(size)
	for i := range talk {
		// An answer continues the prompt; all else is parted from what it follows.
		if i > 0 && talk[i].role != "assistant" {
			b.WriteByte(' ')
		}
		b.WriteString(talk[i].text)
	}
	return b.String()
}
