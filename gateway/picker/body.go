package picker

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// modelHeader names another model for the engine than the body does. Routes of the
// Gateway API set it to split a model's traffic among others.
const modelHeader = "x-gateway-model-name-rewrite"

// rename puts the header's model into the body, which stays as it is otherwise. What
// is no JSON object stays as it is, and is the engine's to refuse. problem is what is
// wrong with a body in which each reader could see another model: some take the first
// of two equal keys, some the last, and some ignore case.
func (c *conversation) rename() (problem string) {
	body := gjson.ParseBytes(c.body)
	if !body.IsObject() || !gjson.ValidBytes(c.body) {
		return ""
	}
	var model gjson.Result
	body.ForEach(func(key, value gjson.Result) bool {
		switch {
		case !strings.EqualFold(key.Str, "model"):
		case model.Exists():
			problem = `field "model" appears twice`
		case key.Str != "model":
			problem = fmt.Sprintf(`field %q must be written "model"`, key.Str)
		default:
			model = value
		}
		return problem == ""
	})
	name := c.header[modelHeader]
	switch {
	case problem != "" || name == "" || model.Str == name:
	case model.Exists():
		c.body = slices.Concat(c.body[:model.Index], gjson.AppendJSONString(nil, name), c.body[model.Index+len(model.Raw):])
		c.renamed = true
	default:
		if with, err := sjson.SetBytes(c.body, "model", name); err == nil {
			c.body, c.renamed = with, true
		}
	}
	return problem
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
