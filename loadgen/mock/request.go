package mock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// Request is one request as the server got it.
type Request struct {
	Path   string
	Header http.Header
	Body   []byte

	Model         string
	Messages      []Message
	Prompt        string
	MaxTokens     int // max_tokens, max_completion_tokens or max_output_tokens
	MinTokens     int
	IgnoreEOS     bool
	Stream        bool
	StreamOptions StreamOptions

	index     int64 // of the requests for tokens, from 0
	limited   bool  // the body says how long the answer may be
	texts     []string
	inputs    int // embeddings: how many
	dimension int // embeddings: how long, 0 when the body does not say
	words     int
}

// StreamOptions are the stream_options of a request.
type StreamOptions struct {
	IncludeUsage         bool // usage at the end
	ContinuousUsageStats bool // usage in every event
}

// Message is one message of a chat.
type Message struct{ Role, Content string }

// Words is the number of words of the prompt, which is its number of tokens by
// this server's count.
func (r *Request) Words() int { return r.words }

// parse reads the body. An error is one line for whoever sent it.
func (r *Request) parse() error {
	if !gjson.ValidBytes(r.Body) {
		return syntaxError(r.Body)
	}
	body := gjson.ParseBytes(r.Body)
	if !body.IsObject() {
		return fmt.Errorf("the body is %s, expected an object", body.Type)
	}
	body.ForEach(func(key, value gjson.Result) bool {
		r.field(key.Str, value)
		return true
	})
	for _, text := range r.texts {
		r.words += countWords(text)
	}
	return nil
}

func syntaxError(body []byte) error {
	var any json.RawMessage
	if err := json.Unmarshal(body, &any); err != nil {
		return fmt.Errorf("the body is not JSON: %w", err)
	}
	return fmt.Errorf("the body is not JSON")
}

func (r *Request) field(key string, v gjson.Result) {
	switch key {
	case "model":
		r.Model = v.String()
	case "messages":
		r.messages(v)
	case "prompt", "input", "instructions":
		r.input(key, v)
	case "max_tokens", "max_completion_tokens", "max_output_tokens":
		if v.Type == gjson.Number {
			r.MaxTokens, r.limited = max(0, int(v.Int())), true
		}
	case "min_tokens":
		r.MinTokens = max(0, int(v.Int()))
	case "dimensions":
		r.dimension = max(0, int(v.Int()))
	case "ignore_eos":
		r.IgnoreEOS = v.Bool()
	case "stream":
		r.Stream = v.Bool()
	case "stream_options":
		r.StreamOptions = StreamOptions{v.Get("include_usage").Bool(), v.Get("continuous_usage_stats").Bool()}
	}
}

// messages reads a conversation, whose contents are texts or lists of parts.
func (r *Request) messages(v gjson.Result) {
	v.ForEach(func(_, m gjson.Result) bool {
		message := Message{Role: m.Get("role").String(), Content: text(m.Get("content"))}
		r.Messages = append(r.Messages, message)
		r.texts = append(r.texts, message.Content)
		return true
	})
}

// text is the text of a content: the text itself, or that of its parts.
func text(v gjson.Result) string {
	if !v.IsArray() {
		return v.String()
	}
	all := ""
	v.ForEach(func(_, part gjson.Result) bool {
		all += part.Get("text").String()
		return true
	})
	return all
}

// input reads what is no chat: a text, a list of texts, of tokens or of lists of
// tokens, or the items of the responses API.
func (r *Request) input(key string, v gjson.Result) {
	if !v.IsArray() {
		r.addInput(key, v.String())
		return
	}
	v.ForEach(func(_, item gjson.Result) bool {
		switch {
		case item.Type == gjson.Number: // one prompt as tokens
			r.words += len(v.Array())
			r.inputs++
			return false
		case item.IsArray(): // a prompt of several, as tokens
			r.words += len(item.Array())
			r.inputs++
		case item.IsObject():
			r.addInput(key, text(item.Get("content")))
		default:
			r.addInput(key, item.String())
		}
		return true
	})
}

func (r *Request) addInput(key, text string) {
	if key == "prompt" && r.Prompt == "" {
		r.Prompt = text
	}
	r.texts = append(r.texts, text)
	if key != "instructions" {
		r.inputs++
	}
}

// countWords is the number of fields that white space separates.
func countWords(s string) (n int) {
	for range words(s) {
		n++
	}
	return n
}

// words are the fields of s, without allocating.
func words(s string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		start := -1
		for i := 0; i < len(s); {
			c, size := rune(s[i]), 1
			if c >= utf8.RuneSelf {
				c, size = utf8.DecodeRuneInString(s[i:])
			}
			if unicode.IsSpace(c) {
				if start >= 0 && !yield(s[start:i]) {
					return
				}
				start = -1
			} else if start < 0 {
				start = i
			}
			i += size
		}
		if start >= 0 {
			yield(s[start:])
		}
	}
}

// has reports whether the body has a member.
func (r *Request) has(member string) bool { return gjson.GetBytes(r.Body, member).Exists() }
