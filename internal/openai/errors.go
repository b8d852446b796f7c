package openai

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// Error is OpenAI's error object. All four fields are always present on the
// wire; Param and Code may be null.
type Error struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// NewError returns an error object; empty param and code become null.
func NewError(kind, message, param, code string) *Error {
	return &Error{Message: message, Type: kind, Param: orNull(param), Code: orNull(code)}
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ErrorBody is the JSON document {"error": …}.
func ErrorBody(e *Error) []byte {
	body, err := json.Marshal(struct {
		Error *Error `json:"error"`
	}{e})
	if err != nil {
		panic(err) // strings and pointers to strings always marshal
	}
	return body
}

// WriteError answers a request with an error in OpenAI's shape.
func WriteError(w http.ResponseWriter, status int, e *Error) {
	body := ErrorBody(e)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(body))) // or a client that reads early would wait for the end
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have left; there is nobody to tell
}
