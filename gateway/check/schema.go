package check

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// metaSchemas are what JSON Schemas themselves must look like, the newest draft
// first. A schema is only compared with them, never compiled: compiling would
// follow its references to files and hosts of the client's choosing.
var metaSchemas = sync.OnceValue(func() (list []*jsonschema.Schema) {
	for _, url := range []string{"https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-07/schema"} {
		list = append(list, jsonschema.NewCompiler().MustCompile(url)) // both are built into the library
	}
	return list
})

// maxSchemas is how much of schemas is looked at in one request, in bytes. More
// is left to the engine: at about a microsecond a byte it would take longer than
// is fair to others.
const maxSchemas = 128 << 10

// badSchema says what is wrong with a JSON Schema, or "". What any of the drafts
// in use takes is good, whatever $schema says.
func badSchema(raw string) string {
	if len(raw) > maxSchemas {
		return ""
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		return "it is not valid JSON"
	}
	where := ""
	for _, meta := range metaSchemas() {
		err := meta.Validate(document)
		if err == nil {
			return ""
		}
		if where == "" {
			where = describe(err)
		}
	}
	return where
}

// describe turns the library's tree of errors into one short line: the first
// place that is wrong, and how. It quotes no values.
func describe(err error) string {
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "it is not a valid JSON Schema"
	}
	for len(invalid.Causes) > 0 {
		invalid = deepest(invalid.Causes)
	}
	place := "the schema"
	if len(invalid.InstanceLocation) > 0 {
		place = "'" + strings.Join(invalid.InstanceLocation, ".") + "'"
	}
	switch k := invalid.ErrorKind.(type) {
	case *kind.Type:
		return fmt.Sprintf("%s must be %s, but is %s", place, strings.Join(k.Want, " or "), k.Got)
	case *kind.Enum:
		return place + " has a value that JSON Schema does not know"
	}
	return fmt.Sprintf("%s breaks the rule '%s' of JSON Schema", place, strings.Join(invalid.ErrorKind.KeywordPath(), "/"))
}

// deepest is the cause that names the most specific place: of alternatives that
// all failed, it tells best what was meant.
func deepest(causes []*jsonschema.ValidationError) *jsonschema.ValidationError {
	best := causes[0]
	for _, c := range causes[1:] {
		if len(c.InstanceLocation) > len(best.InstanceLocation) {
			best = c
		}
	}
	return best
}
