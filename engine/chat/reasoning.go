package chat

import (
	"fmt"
	"strings"
)

const thinkOpen, thinkClose = "<think>", "</think>"

// ReasoningFormats are the names that NewReasoningParser takes, which are vLLM's.
var ReasoningFormats = []string{"qwen3", "deepseek_r1"}

// NewReasoningParser returns a parser that tells <think>…</think> at the beginning of
// an answer from the rest. In "qwen3" an answer without <think> is content; in
// "deepseek_r1" it is reasoning up to </think>, since the prompt may have ended with
// the opening marker.
func NewReasoningParser(format string) (Parser, error) {
	switch format {
	case "qwen3":
		return &reasoning{}, nil
	case "deepseek_r1":
		return &reasoning{always: true}, nil
	}
	return nil, fmt.Errorf("reasoning format %q is unknown, expected one of %s", format, strings.Join(ReasoningFormats, ", "))
}

type reasoning struct {
	always bool
	state  int // 0: at the beginning, 1: in the reasoning, 2: behind it
	held   string
}

func (r *reasoning) Push(text string) (d Delta) {
	r.held += text
	if r.state == 0 && !r.begin() {
		return d
	}
	if r.state == 1 {
		i := strings.Index(r.held, thinkClose)
		if i < 0 {
			keep := overlap(r.held, thinkClose)
			d.Reasoning = r.held[:len(r.held)-keep]
			r.held = r.held[len(r.held)-keep:]
			return d
		}
		d.Reasoning = r.held[:i]
		r.held = r.held[i+len(thinkClose):]
		r.state = 2
	}
	d.Content = r.held
	r.held = ""
	return d
}

// begin decides whether the text begins with reasoning, and reports whether it could.
func (r *reasoning) begin() bool {
	rest := strings.TrimLeft(r.held, space)
	switch {
	case strings.HasPrefix(rest, thinkOpen):
		r.held = rest[len(thinkOpen):]
		r.state = 1
	case strings.HasPrefix(thinkOpen, rest):
		return false
	case r.always:
		r.state = 1
	default:
		r.state = 2
	}
	return true
}

func (r *reasoning) Flush() (d Delta) {
	if r.state == 1 || r.state == 0 && r.always {
		d.Reasoning = r.held
	} else {
		d.Content = r.held
	}
	r.held = ""
	return d
}
