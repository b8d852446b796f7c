package anthropic

import (
	"fmt"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// turn is what one role says until the other one speaks: the vendor wants user
// and assistant to alternate. Results of tools come before all else in it, as the
// vendor requires.
type turn struct {
	role            string
	results, blocks []byte // content blocks, joined by commas
}

// messages translates the conversation. System and developer messages become the
// system prompt, wherever they stand.
func (r *request) messages() *openai.Error {
	list := r.fields["messages"]
	if !list.IsArray() {
		return invalid("messages", `"messages" must be a list`)
	}
	var c conversation
	var err *openai.Error
	i := 0
	list.ForEach(func(_, message gjson.Result) bool {
		err = c.add(message, path("messages[%d]", i))
		i++
		return err == nil
	})
	if err != nil {
		return err
	}
	if len(c.turns) == 0 {
		return invalid("messages", `"messages" must hold a message with content of the user`)
	}
	if len(c.system) > 0 {
		r.field("system", wrap('[', c.system, ']'))
	}
	r.field("messages", nil)
	r.out = append(r.out, '[')
	for i, t := range c.turns {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		r.out = append(r.out, `{"role":"`+t.role+`","content":[`...)
		r.out = append(r.out, t.results...)
		if len(t.results) > 0 && len(t.blocks) > 0 {
			r.out = append(r.out, ',')
		}
		r.out = append(append(r.out, t.blocks...), "]}"...)
	}
	r.out = append(r.out, ']')
	return nil
}

type conversation struct {
	system []byte
	turns  []turn
}

// path is the place of a value in the request, made when an error needs it.
func path(format string, args ...any) func() string {
	return func() string { return fmt.Sprintf(format, args...) }
}

func (c *conversation) add(message gjson.Result, at func() string) *openai.Error {
	content := message.Get("content")
	switch role := message.Get("role").Str; role {
	case "system", "developer":
		blocks, err := contentBlocks(content, textOnly, at)
		c.system = appendBlocks(c.system, blocks)
		return err
	case "user":
		blocks, err := contentBlocks(content, textAndImages, at)
		c.say("user", nil, blocks)
		return err
	case "assistant":
		blocks, err := assistantBlocks(message, at)
		c.say("assistant", nil, blocks)
		return err
	case "tool":
		result, err := toolResult(message, at)
		c.say("user", result, nil)
		return err
	default:
		return unsupported(at()+".role", fmt.Sprintf("the model's provider has no message of role %q", brief(role)))
	}
}

// say adds blocks to the conversation. Nothing said is no turn: the vendor
// refuses empty ones.
func (c *conversation) say(role string, results, blocks []byte) {
	if len(results)+len(blocks) == 0 {
		return
	}
	if n := len(c.turns); n == 0 || c.turns[n-1].role != role {
		c.turns = append(c.turns, turn{role: role})
	}
	t := &c.turns[len(c.turns)-1]
	t.results = appendBlocks(t.results, results)
	t.blocks = appendBlocks(t.blocks, blocks)
}

// appendBlocks joins two lists. The first of them is kept as it is when it is all
// there is: it may hold an image of many megabytes.
func appendBlocks(list, more []byte) []byte {
	switch {
	case len(list) == 0:
		return more
	case len(more) == 0:
		return list
	}
	return append(append(list, ','), more...)
}

// assistantBlocks are, in the vendor's order: what the model thought, if the
// client kept it with its signature; what it said; the tools it called.
func assistantBlocks(message gjson.Result, at func() string) ([]byte, *openai.Error) {
	thoughts := thinkingBlocks(message.Get("thinking_blocks"))
	said, err := contentBlocks(message.Get("content"), textAndRefusals, at)
	if err != nil {
		return nil, err
	}
	if refusal := message.Get("refusal"); refusal.Type == gjson.String && refusal.Str != "" {
		said = appendItem(said, textBlock(refusal, gjson.Result{}))
	}
	calls, err := toolUses(message, at)
	return appendBlocks(appendBlocks(thoughts, said), calls), err
}

// thinkingBlocks returns signed thoughts as they came with an answer of this
// package; without the signature the vendor does not take them.
func thinkingBlocks(list gjson.Result) (blocks []byte) {
	list.ForEach(func(_, block gjson.Result) bool {
		thought, signature, data := block.Get("thinking"), block.Get("signature"), block.Get("data")
		switch kind := block.Get("type").Str; {
		case kind == "thinking" && thought.Type == gjson.String && signature.Type == gjson.String && signature.Str != "":
			blocks = appendItem(blocks, `{"type":"thinking","thinking":`+thought.Raw+`,"signature":`+signature.Raw+`}`)
		case kind == "redacted_thinking" && data.Type == gjson.String:
			blocks = appendItem(blocks, `{"type":"redacted_thinking","data":`+data.Raw+`}`)
		}
		return true
	})
	return blocks
}
