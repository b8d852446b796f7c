package gateway

import (
	"bytes"
	"fmt"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/openai"
)

// stored refuses what outlives its request. An answer in the background is never seen
// here, so that nobody would pay for it; and what upstreams keep under an id is open to
// everyone who calls them with the same key, which all tenants do. Aliases for a single
// tenant can allow the latter. Of others nothing is kept: OpenAI's Responses API keeps
// what does not say otherwise, so that it is said.
func (x *exchange) stored(q *request) *failure {
	if q.fields["background"].Bool() {
		return unstored("background", "the answer comes with its request")
	}
	if x.model.storedResponses || !q.dialect.generates {
		return nil
	}
	store, err := q.flag("store", q.fields["store"])
	if err != nil {
		return invalidField(err)
	}
	if store {
		return unstored("store", `nothing is kept at the upstream: leave it out, or send "store": false`)
	}
	if at := q.reference(); at != "" {
		return unstored(at, "what the upstream has kept is not of this key alone: send the content itself with each request")
	}
	if q.dialect == &responses && q.fields["store"].Type == gjson.Null {
		q.edits = append(q.edits, q.setting("store", []byte("false")))
	}
	return nil
}

func unstored(param, why string) *failure {
	return &failure{status: http.StatusBadRequest, outcome: outcomeInvalid,
		body: openai.NewError("invalid_request_error", fmt.Sprintf("this model does not take %q: %s", param, why), param, "unsupported_parameter")}
}

// reference is where the request names something that upstreams keep under an id;
// empty when it names nothing.
func (r *request) reference() string {
	if r.dialect == &responses {
		for _, name := range []string{"previous_response_id", "conversation"} {
			if r.fields[name].Type != gjson.Null {
				return name
			}
		}
		if r.fields["prompt"].IsObject() {
			return "prompt.id"
		}
		for _, name := range []string{"input", "tools"} {
			if at := referenceIn(r.fields[name]); at != "" {
				return name + at
			}
		}
		return ""
	}
	// Few chats name anything: their messages are only walked where a key could.
	for _, sign := range []string{`_id"`, `"audio"`, `\u`} {
		if bytes.Contains(r.body, []byte(sign)) {
			if at := referenceIn(r.fields["messages"]); at != "" {
				return "messages" + at
			}
			break
		}
	}
	return ""
}

var (
	// referring are the keys under which OpenAI's API names files, stores of vectors,
	// containers and skills.
	referring = []string{"file_id", "file_ids", "vector_store_ids", "container_id", "skill_id"}
	// opaque are the keys of schemas, whose own keys are anything.
	opaque = []string{"parameters", "schema", "input_schema", "output_schema"}
)

// referenceIn walks a value. The path begins with a dot or an index.
func referenceIn(v gjson.Result) (at string) {
	if !v.IsObject() && !v.IsArray() {
		return ""
	}
	if bareItem(v) {
		return ".id"
	}
	list, i := v.IsArray(), -1
	v.ForEach(func(key, value gjson.Result) bool {
		i++
		switch {
		case list:
			if at = referenceIn(value); at != "" {
				at = fmt.Sprintf("[%d]%s", i, at)
			}
		case slices.Contains(opaque, key.Str), value.Type == gjson.Null, value.IsArray() && !filled(value):
		case slices.Contains(referring, key.Str), key.Str == "container" && value.Type == gjson.String:
			at = "." + key.Str
		case key.Str == "audio" && value.Get("id").Exists(): // of an earlier answer
			at = ".audio.id"
		default:
			if at = referenceIn(value); at != "" {
				at = "." + key.Str + at
			}
		}
		return at == ""
	})
	return at
}

// held are the fields without which an item of a kind is only its id: thoughts and
// images that were made, whose other fields say nothing of them.
var held = map[string][]string{
	"reasoning":             {"encrypted_content", "content"},
	"compaction":            {"encrypted_content"},
	"image_generation_call": {"result"},
}

// bareItem tells whether an object is an item of an earlier answer that is named by
// its id: one that says it is, or one that has nothing else.
func bareItem(v gjson.Result) bool {
	if !v.IsObject() {
		return false
	}
	kind := v.Get("type").Str
	needs, special := held[kind]
	id, content := false, false
	v.ForEach(func(key, value gjson.Result) bool {
		switch {
		case key.Str == "id":
			id = id || value.Type != gjson.Null
		case key.Str == "type":
			content = content || value.Type != gjson.Null && !special && kind != "item_reference"
		case !special || slices.Contains(needs, key.Str):
			content = content || value.Type == gjson.String && value.Str != "" || filled(value)
		}
		return true
	})
	return kind == "item_reference" || id && !content
}

// filled tells whether a value is an object, or a list with something in it.
func filled(v gjson.Result) bool {
	return v.IsObject() || v.IsArray() && v.Get("#").Int() > 0
}
