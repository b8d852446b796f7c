package check

import "github.com/tidwall/gjson"

// Problem is what is wrong with a request. It never quotes the request beyond
// the names of its fields.
type Problem struct {
	Message string
	Param   string // the field, such as messages[2].role
	Code    string // of OpenAI's errors; empty for none
}

// Body is the top-level fields of a request, read once: bodies have megabytes.
type Body map[string]gjson.Result

// Check looks at one aspect of a request. The body is valid JSON, an object; path
// is that of the API, such as /v1/chat/completions.
type Check interface {
	Check(path string, body Body) *Problem
}

// Func is a function as a Check.
type Func func(path string, body Body) *Problem

// Check implements Check.
func (f Func) Check(path string, body Body) *Problem { return f(path, body) }

// Chain is several checks; the first problem counts.
type Chain []Check

// Check implements Check.
func (c Chain) Check(path string, body Body) *Problem {
	for _, check := range c {
		if p := check.Check(path, body); p != nil {
			return p
		}
	}
	return nil
}

// Requests returns the checks that every request passes: input, parameters, tools
// and response format.
func Requests() Chain {
	return Chain{Func(input), Func(parameters), newTools(), Func(responseFormat)}
}

// Paths of the API that have checks of their own.
const (
	chatPath       = "/v1/chat/completions"
	completionPath = "/v1/completions"
	embeddingPath  = "/v1/embeddings"
	responsesPath  = "/v1/responses"
)

// present tells whether a field is there and not null.
func present(v gjson.Result) bool { return v.Exists() && v.Type != gjson.Null }

// kindOf names the type of a value as JSON Schema does.
func kindOf(v gjson.Result) string {
	switch {
	case !v.Exists():
		return "nothing"
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "an array"
	}
	switch v.Type {
	case gjson.String:
		return "a string"
	case gjson.Number:
		return "a number"
	case gjson.True, gjson.False:
		return "a boolean"
	}
	return "null"
}

func missing(param string) *Problem {
	return &Problem{Message: "Missing required parameter: '" + param + "'.", Param: param, Code: "missing_required_parameter"}
}

func wrongType(param, expected string, got gjson.Result) *Problem {
	return &Problem{
		Message: "Invalid type for '" + param + "': expected " + expected + ", but got " + kindOf(got) + " instead.",
		Param:   param, Code: "invalid_type",
	}
}

func wrongValue(param, message string) *Problem {
	return &Problem{Message: "Invalid value for '" + param + "': " + message + ".", Param: param, Code: "invalid_value"}
}
