package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/llmctl/llmctl/internal/openai"
)

// problem is a request that cannot be served: an error object in the making.
type problem struct {
	message, param, code string
	status               int // 0 is 400
}

func (p *problem) write(w http.ResponseWriter) {
	if p.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	refuse(w, cmp.Or(p.status, http.StatusBadRequest), p.message, p.param, p.code)
}

// wrong is a parameter whose value makes no sense.
func wrong(param, format string, args ...any) *problem {
	return &problem{message: fmt.Sprintf(format, args...), param: param}
}

// unsupported is a parameter that would change the answer and is not implemented;
// instead says what to do, or nothing.
func unsupported(param, instead string) *problem {
	if instead != "" {
		instead = ": " + instead
	}
	name, _, _ := strings.Cut(param, " ") // which value of it is asked for may follow
	return &problem{message: param + " is not supported by this server" + instead, param: name, code: "unsupported_parameter"}
}

// refuse answers with an error in OpenAI's shape whose type follows the status.
func refuse(w http.ResponseWriter, status int, message, param, code string) {
	kind := "invalid_request_error"
	switch {
	case status == http.StatusUnauthorized:
		kind = "authentication_error"
	case status >= 500:
		kind = "server_error"
	}
	openai.WriteError(w, status, openai.NewError(kind, message, param, code))
}

func modelNotFound(name string) *problem {
	return &problem{"The model `" + name + "` does not exist.", "model", "model_not_found", http.StatusNotFound}
}

// badJSON says in the API's words what is wrong with a body that was meant for a type.
func badJSON(err error, body reflect.Type) *problem {
	if field, ok := errors.AsType[*openai.FieldError](err); ok {
		return &problem{message: field.Message, param: field.Field}
	}
	if kind, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if kind.Field == "" {
			return wrong("", "request body must be a JSON object, got %s", kind.Value)
		}
		field := clientsName(kind.Field)
		what, in := kindName(kind.Type), ""
		if t := openai.FieldType(body, field); t != nil && t.Kind() == reflect.Slice && kind.Type.Kind() != reflect.Slice {
			what, in = "a list, each of whose items is "+what, " in it"
		}
		return wrong(field, "%s must be %s, got %s%s", field, what, kind.Value, in)
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return wrong("", "request body is not valid JSON: %v", err)
	}
	return wrong("", "%v", err)
}

// clientsName is the path of a field without the structs that are ours, not the
// client's: those whose names begin with a capital.
func clientsName(path string) string {
	var kept []string
	for part := range strings.SplitSeq(path, ".") {
		if part == "" || part[0] < 'A' || part[0] > 'Z' {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, ".")
}

// kindName says in words what kind of value a parameter takes.
func kindName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "a boolean"
	case reflect.String:
		return "a string"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Int32:
		return "a whole number of 32 bits"
	default:
		return "a number"
	}
}
