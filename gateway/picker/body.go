package picker

import (
	"iter"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// modelHeader names another model for the engine than the body does. Routes of the
// Gateway API set it to split a model's traffic among others.
const modelHeader = "x-gateway-model-name-rewrite"

// rename puts the header's model into the body, which stays as it is otherwise. What
// is no JSON object stays as it is, and is the engine's to refuse.
func (c *conversation) rename() {
	name := c.header[modelHeader]
	if name == "" || gjson.GetBytes(c.body, "model").Str == name || !gjson.ParseBytes(c.body).IsObject() || !gjson.ValidBytes(c.body) {
		return
	}
	if body, err := sjson.SetBytes(c.body, "model", name); err == nil {
		c.body, c.renamed = body, true
	}
}

// partSize bounds the parts in which a body is given back: Envoy asks for no more
// than 64 KiB a message.
const partSize = 62_000

// parts cuts a body. One that is empty is one empty part.
func parts(body []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for len(body) > partSize {
			if !yield(body[:partSize]) {
				return
			}
			body = body[partSize:]
		}
		yield(body)
	}
}
