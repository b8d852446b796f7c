package gateway

import (
	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/jsonscan"
	"github.com/llmctl/llmctl/internal/openai"
)

// dialect is one path of OpenAI's API: what a request holds there, and what an
// answer does.
type dialect struct {
	path      string
	operation string   // gen_ai.operation.name of OpenTelemetry's conventions
	fields    fieldSet // top-level fields of a request that the gateway reads
	maxKeys   []string // those that bound the output; of several the largest counts, since engines differ in which they heed
	streams   bool     // answers may be streamed
	generates bool     // answers have output tokens
	salted    bool     // engines take cache_salt here
	options   bool     // streams have stream_options.include_usage, and end with [DONE]
	modelPath string   // of the model's name in a stream's events

	// estimate guesses the tokens of the prompt, and tells whether that is all text in
	// the request.
	estimate func(fields map[string]gjson.Result) (tokens int64, textOnly bool)
	// event reads an event of a stream.
	event func(openai.Event) chunk
	// whole reads an answer that is not streamed.
	whole func(body []byte) wholeAnswer
	// failed writes an error as an event of a stream.
	failed func(*openai.Error) []byte
}

// wholeAnswer is what the gateway reads from an answer that is not streamed.
type wholeAnswer struct {
	usage        gjson.Result
	output       int64 // estimate, tokens
	finishReason string
}

// common are the fields that every dialect reads.
var common = append([]string{"model", "stream", "cache_salt", "tools", "priority", "prompt_cache_key", "user"}, workFields()...)

var chat = dialect{
	path: "/v1/chat/completions", operation: "chat",
	fields:  append([]string{"stream_options", "messages", "prompt", "functions", "response_format", "store"}, common...),
	maxKeys: []string{"max_tokens", "max_completion_tokens"},
	streams: true, generates: true, salted: true, options: true, modelPath: "model",
	estimate: estimateInput, event: readChunk, whole: readCompletion, failed: errorEvent,
}

var completions = func() dialect {
	d := chat
	d.path, d.operation = "/v1/completions", "text_completion"
	return d
}()

// Embeddings have no output, no stream and no cache.
var embeddings = dialect{
	path: "/v1/embeddings", operation: "embeddings",
	fields:   append([]string{"input"}, common...),
	estimate: estimateEmbedding,
	whole: func(body []byte) wholeAnswer {
		return wholeAnswer{usage: gjson.GetBytes(body, "usage")}
	},
	failed: errorEvent,
}

// dialects are the paths that take a request for a model.
var dialects = []*dialect{&chat, &completions, &embeddings, &responses}

// readCompletion reads a completion of either kind.
func readCompletion(body []byte) (a wholeAnswer) {
	a.usage = gjson.GetBytes(body, "usage")
	var p bit
	gjson.GetBytes(body, "choices").ForEach(func(_, choice gjson.Result) bool {
		before := p.output
		p.output = false
		choice.ForEach(func(key, value gjson.Result) bool {
			switch s := jsonscan.New([]byte(value.Raw)); key.Str {
			case "text":
				p.text(&s, s.Text())
			case "message":
				if s.Peek() == '{' {
					p.delta(&s)
				}
			case "finish_reason":
				a.finishReason = value.Str
			}
			return true
		})
		p.piece(before)
		return true
	})
	a.output = p.heard.tokens()
	return a
}

// errorEvent is how completions tell of an error in a stream: one event, and no
// [DONE] after it.
func errorEvent(e *openai.Error) []byte {
	event := append([]byte("data: "), openai.ErrorBody(e)...)
	return append(event, "\n\n"...)
}
