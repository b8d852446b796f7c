package trace

import (
	"bufio"
	"errors"
	"io"
	"strings"

	"github.com/llmctl/llmctl/loadgen/workload"
)

// shareGPT is one conversation. The published files write from and value; sets
// made after them write role and content.
type shareGPT struct {
	Conversations []shareGPTMessage `json:"conversations"`
	Conversation  []shareGPTMessage `json:"conversation"`
}

type shareGPTMessage struct {
	From    string `json:"from"`
	Role    string `json:"role"`
	Value   string `json:"value"`
	Content string `json:"content"`
}

// readShareGPT reads conversations. Each becomes a session whose turns are what
// the human says; the answers give the lengths to ask for, and the later turns
// carry the answers of the endpoint.
func readShareGPT(in *bufio.Reader, b *builder) error {
	e := newElements(in)
	for {
		err := e.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case b.full():
			return errTooLarge
		}
		b.report.Rows++
		var c shareGPT
		if where, reason := decode(e.object, &c); reason != "" {
			line, column := e.place(where)
			b.broken(line, column, reason, "")
			continue
		}
		turns, reason := c.turns()
		if reason != "" {
			b.leaveOut(e.line, e.column, reason, "")
			continue
		}
		b.note(noteEstimate)
		b.note("the trace has no times; the arrival process decides when conversations begin")
		session := b.begin(0, turns[0])
		for _, t := range turns[1:] {
			b.proceed(session, t)
		}
	}
}

// turns pairs what the human says with the answer to it. What the system says
// stands before the first message; messages without an answer in between are one.
func (c shareGPT) turns() (turns []workload.Turn, reason string) {
	var said []string
	for _, m := range append(c.Conversations, c.Conversation...) {
		text := m.Value + m.Content
		switch m.From + m.Role {
		case "human", "user", "system":
			if text != "" {
				said = append(said, text)
			}
		case "gpt", "chatgpt", "assistant", "bing", "bard", "claude", "palm":
			if len(said) == 0 || text == "" {
				continue // goes on with an answer, or begins with one
			}
			ask := strings.Join(said, "\n\n")
			turns = append(turns, workload.Turn{Text: ask, Input: estimate(len(ask)), Output: estimate(len(text))})
			said = nil
		default:
			return nil, "a message from somebody other than human, gpt and system"
		}
	}
	if len(turns) == 0 {
		return nil, "no message with an answer"
	}
	return turns, ""
}
