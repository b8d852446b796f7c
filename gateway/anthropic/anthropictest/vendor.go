package anthropictest

import (
	"encoding/json"
	"io"
	"net/http"
	"sync"
)

// Vendor is the handler of the upstream. The zero one answers every request that
// it accepts with 200 and nothing.
type Vendor struct {
	Key    string                                                        // the x-api-key it takes
	Answer func(w http.ResponseWriter, r *http.Request, request Request) // called for what it accepts

	mu     sync.Mutex
	bodies []string
}

// Bodies are the bodies of all requests so far.
func (v *Vendor) Bodies() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.bodies...)
}

// ServeHTTP implements http.Handler.
func (v *Vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	v.mu.Lock()
	v.bodies = append(v.bodies, string(body))
	v.mu.Unlock()
	switch {
	case r.Method != http.MethodPost || r.URL.Path != "/v1/messages":
		Refuse(w, http.StatusNotFound, "not_found_error", "no such path: "+r.URL.Path)
	case r.Header.Get("X-Api-Key") != v.Key || r.Header.Get("Authorization") != "":
		Refuse(w, http.StatusUnauthorized, "authentication_error", "invalid x-api-key "+r.Header.Get("X-Api-Key"))
	case r.Header.Get("Anthropic-Version") != "2023-06-01":
		Refuse(w, http.StatusBadRequest, "invalid_request_error", "anthropic-version: header is required")
	default:
		request, err := Check(body)
		if err != nil {
			Refuse(w, http.StatusBadRequest, "invalid_request_error", err.Error())
			return
		}
		if v.Answer != nil {
			v.Answer(w, r, request)
		}
	}
}

// Refuse writes an error in the vendor's shape.
func Refuse(w http.ResponseWriter, status int, kind, message string) {
	body, err := json.Marshal(map[string]any{
		"type": "error", "request_id": "req_01",
		"error": map[string]string{"type": kind, "message": message},
	})
	if err != nil {
		panic(err) // strings always marshal
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the client may have left
}

// Stream writes events, each flushed; e is the JSON of one.
func Stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, e := range events {
		_, _ = io.WriteString(w, Event(e)) // the client may have left
		_ = http.NewResponseController(w).Flush()
	}
}

// Event is an event on the wire, named by its type, from its JSON.
func Event(data string) string {
	var typed struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal([]byte(data), &typed); err != nil {
		panic(err) // a mistake in the test's own script
	}
	return "event: " + typed.Type + "\ndata: " + data + "\n\n"
}
