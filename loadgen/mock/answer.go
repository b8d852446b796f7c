package mock

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// An answer is what goes back to one request. Both ways to serve, the
// http.Handler and the exact server, play it; neither knows what is in it.
type answer struct {
	status int
	kind   string      // Content-Type
	header http.Header // what else; may be nil
	raw    bool        // the body is the whole response, framing included
	whole  bool        // the body is one piece, sent with its length instead of in chunks
	body   pieces
	end    End

	generates bool // takes a place in the batch, and counts
	prompt    int  // tokens
	cached    int  // prompt tokens that were in the prefix cache
}

// pieces are the writes of an answer. They are asked for in order, each once.
type pieces interface {
	piece(i int) (p piece, ok bool)
}

// A piece is one write.
type piece struct {
	at     time.Duration // since the answer began; at once when that has passed
	data   []byte        // valid until the next piece is asked for
	tokens int           // output tokens in it
	same   bool          // data is that of the piece before
}

// one is an answer's only piece.
type one piece

func (o one) piece(i int) (piece, bool) { return piece(o), i == 0 }

const (
	eventStream     = "text/event-stream"
	applicationJSON = "application/json"
)

// now is an answer in JSON at once.
func now(status int, body []byte) *answer {
	return &answer{status: status, kind: applicationJSON, whole: true, body: one{data: body}}
}

// refusal is an error as OpenAI's API words it.
func refusal(status int, kind, message string) *answer {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": message, "type": kind, "code": status}})
	if err != nil {
		panic(err) // strings and numbers always marshal
	}
	return now(status, body)
}

// usageOf is the count of tokens in the chat and completions APIs, as a member
// of an object.
func appendUsage(b []byte, prompt, cached, completion, reasoning int) []byte {
	b = append(b, `"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(prompt), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(completion), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(prompt+completion), 10)
	if cached > 0 {
		b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
		b = strconv.AppendInt(b, int64(cached), 10)
		b = append(b, '}')
	}
	if reasoning > 0 {
		b = append(b, `,"completion_tokens_details":{"reasoning_tokens":`...)
		b = strconv.AppendInt(b, int64(reasoning), 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

// quoted is text as a JSON string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(b)
}
