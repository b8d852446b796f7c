package usage

import (
	"net/http"
	"time"

	"github.com/llmctl/llmctl/internal/openai"
)

// readPatience is how long a client may take to read what one write brings.
const readPatience = 30 * time.Second

// Handler exports usage over HTTP, for GET; the parameters are those of ParseExport.
// Who may ask is for others to check.
func Handler(s Source, now func() time.Time) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		e, err := ParseExport(r.URL.Query(), now())
		if err != nil {
			openai.WriteError(w, http.StatusBadRequest, openai.NewError("invalid_request_error", err.Error(), "", ""))
			return
		}
		began, control := false, http.NewResponseController(w)
		out := writerFunc(func(p []byte) (int, error) {
			// Who reads has time for each part; a query of years takes what it takes.
			_ = control.SetWriteDeadline(time.Now().Add(readPatience)) // writers without deadlines, as in tests, have none
			if !began {
				began = true
				w.Header().Set("Content-Type", e.contentType())
				w.Header().Set("Cache-Control", "no-store")
			}
			return w.Write(p)
		})
		switch err := e.Write(r.Context(), out, s); {
		case err == nil:
		case began:
			panic(http.ErrAbortHandler) // nothing else tells the client that the rest is missing
		default:
			openai.WriteError(w, http.StatusServiceUnavailable, openai.NewError("server_error", err.Error(), "", ""))
		}
	})
}

type writerFunc func([]byte) (int, error)

// Write implements io.Writer.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
