package server

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/llmctl/llmctl/engine/grammar"
	"github.com/llmctl/llmctl/internal/openai"
)

// constraint is what an answer is held to, before it is compiled.
type constraint struct {
	kind   string // of those below
	source string
	param  string // that asked for it
}

const (
	anyObject = "object"
	bySchema  = "schema"
	byRegex   = "regex"
	byChoice  = "choice" // source is the list in JSON
)

// constraintOf finds what a request wants, nil where it wants nothing. Only one may be
// set.
func constraintOf(c *openai.Constraints) (*constraint, *problem) {
	var found []constraint
	add := func(kind, source, param string) { found = append(found, constraint{kind, source, param}) }
	if f := c.ResponseFormat; f != nil {
		switch f.Type {
		case "text":
		case "json_object":
			add(anyObject, "", "response_format")
		case "json_schema":
			if f.JSONSchema == nil || !given(f.JSONSchema.Schema) {
				return nil, wrong("response_format", "When response_format type is 'json_schema', the 'json_schema' field must be provided.")
			}
			add(bySchema, string(f.JSONSchema.Schema), "response_format")
		default:
			return nil, wrong("response_format", "response_format.type is %q, expected text, json_object or json_schema", f.Type)
		}
	}
	if s := c.StructuredOutputs; s != nil {
		if s.Grammar != nil || s.StructuralTag != nil {
			return nil, unsupported("structured_outputs", "use json, regex or choice, not grammar or structural_tag")
		}
		addAny(add, "structured_outputs", s.JSON, s.Regex, s.Choice)
		if s.JSONObject != nil && *s.JSONObject {
			add(anyObject, "", "structured_outputs")
		}
		if len(found) == 0 {
			return nil, wrong("structured_outputs", "You must use one kind of structured outputs constraint but none are specified: expected json, json_object, regex or choice")
		}
	}
	if c.GuidedGrammar != nil {
		return nil, unsupported("guided_grammar", "use guided_json, guided_regex or guided_choice")
	}
	addAny(add, "guided_json", c.GuidedJSON, c.GuidedRegex, c.GuidedChoice)
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return &found[0], found[0].empty()
	}
	return nil, wrong(found[1].param, "You can only use one kind of constraints for structured outputs ('json', 'regex' or 'choice').")
}

func addAny(add func(kind, source, param string), param string, schema json.RawMessage, regex *string, choice []string) {
	if len(schema) > 0 && string(schema) != "null" {
		text := string(schema)
		var quoted string
		if json.Unmarshal(schema, &quoted) == nil { // vLLM takes a schema in a string as well
			text = quoted
		}
		add(bySchema, text, param)
	}
	named := func(kind string) string { return strings.Replace(param, "guided_json", "guided_"+kind, 1) }
	if regex != nil {
		add(byRegex, *regex, named(byRegex))
	}
	if choice != nil {
		list, err := json.Marshal(choice)
		if err != nil {
			panic(err) // strings always marshal
		}
		add(byChoice, string(list), named(byChoice))
	}
}

// empty refuses what would let no text but the empty one, or none at all.
func (c *constraint) empty() *problem {
	switch {
	case c.kind == byChoice && c.source == "[]":
		return wrong(c.param, "Choice '[]' cannot be an empty list")
	case c.kind == byRegex && c.source == "":
		return wrong(c.param, "Regex '' cannot be an empty string")
	case c.kind == bySchema && strings.TrimSpace(c.source) == "":
		return wrong(c.param, "JSON '' cannot be an empty string")
	}
	return nil
}

func (c *constraint) compile(ctx context.Context) (*grammar.Grammar, error) {
	switch c.kind {
	case anyObject:
		return grammar.JSON(), nil
	case bySchema:
		return grammar.Schema(ctx, json.RawMessage(c.source), grammar.Options{})
	case byRegex:
		return grammar.Regex(ctx, c.source)
	}
	var list []string
	if err := json.Unmarshal([]byte(c.source), &list); err != nil {
		return nil, err
	}
	return grammar.Choice(ctx, list)
}
