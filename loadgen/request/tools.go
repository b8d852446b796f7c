package request

import (
	"encoding/json"
	"sync"
)

// ToolChoice says whether a request that offers tools leaves it to the model to
// call one.
type ToolChoice string

// The choices.
const (
	ToolsAuto     ToolChoice = "auto"     // the default; vLLM must be started with --enable-auto-tool-choice
	ToolsRequired ToolChoice = "required" // the answer is a call
)

func (w *Writer) toolChoice() string {
	if w.ToolChoice == "" {
		return string(ToolsAuto)
	}
	return string(w.ToolChoice)
}

// tool is the definition of one function that a model may call.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
}

// tools are what an assistant of a shop would be offered: a search, a look-up
// and an action.
var tools = []tool{
	{"search_products", "Search the catalogue of products by text, with optional limits on price.", json.RawMessage(
		`{"type":"object","properties":{"query":{"type":"string","description":"What to look for"},` +
			`"max_price":{"type":"number","description":"Highest price in dollars"},` +
			`"limit":{"type":"integer","description":"How many products to return","minimum":1,"maximum":50}},"required":["query"]}`)},
	{"get_order_status", "Look up where an order is and when it will arrive.", json.RawMessage(
		`{"type":"object","properties":{"order_id":{"type":"string","description":"The number of the order"}},"required":["order_id"]}`)},
	{"create_return", "Open a return of one item of an order.", json.RawMessage(
		`{"type":"object","properties":{"order_id":{"type":"string"},"item":{"type":"string"},` +
			`"reason":{"type":"string","enum":["damaged","wrong item","too late","other"]}},"required":["order_id","item","reason"]}`)},
}

// schemaName and schema are the form of answer that a request may demand. It has
// a text of any length, so that the answer is as long as the model wants.
const (
	schemaName = "answer"
	schema     = `{"type":"object","properties":{"answer":{"type":"string"},"confidence":{"type":"number"},` +
		`"sources":{"type":"array","items":{"type":"string"}}},"required":["answer","confidence","sources"],"additionalProperties":false}`
)

// definition holds the tools and the schema in the words of each dialect.
type definition struct{ chat, responses, responseFormat, textFormat json.RawMessage }

var definitions = sync.OnceValue(func() definition {
	type format struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	}
	type nested struct {
		Type     string `json:"type"`
		Function tool   `json:"function"`
	}
	type flat struct {
		Type string `json:"type"`
		tool
	}
	var chat []nested
	var responses []flat
	for _, t := range tools {
		chat = append(chat, nested{"function", t})
		responses = append(responses, flat{"function", t})
	}
	answer := format{schemaName, true, json.RawMessage(schema)}
	return definition{
		chat:      encoded(chat),
		responses: encoded(responses),
		responseFormat: encoded(struct {
			Type       string `json:"type"`
			JSONSchema format `json:"json_schema"`
		}{"json_schema", answer}),
		textFormat: encoded(map[string]any{"format": struct {
			Type string `json:"type"`
			format
		}{"json_schema", answer}}),
	}
})

func encoded(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // constants that always marshal
	}
	return data
}
