package gateway

import (
	"encoding/json"
	"net/http"

	"github.com/llmctl/llmctl/internal/openai"
)

// reloadSchema names the document that a reload answers with.
const reloadSchema = "llmctl/reload/v1"

// reload is POST /admin/reload.
func (g *Gateway) reload(w http.ResponseWriter, _ *http.Request) {
	file := g.file.Load()
	if file == nil {
		openai.WriteError(w, http.StatusNotFound, openai.NewError("invalid_request_error", "this gateway has no configuration file to reload", "", "not_found"))
		return
	}
	if err := file.Reload(); err != nil {
		openai.WriteError(w, http.StatusBadRequest, openai.NewError("invalid_request_error", "the old configuration stays: "+err.Error(), "", "configuration_refused"))
		return
	}
	status := file.Status()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct { // a client that left is no concern
		Schema  string   `json:"schema"`
		Hash    string   `json:"hash"`
		Restart []string `json:"restart_needed,omitempty"`
	}{reloadSchema, status.Hash, status.Restart})
}

// known lets only those pass who have shown who they are, by the token or by a
// certificate of the listener's authority: what changes something must not be open
// to every page that a browser on this machine happens to show.
func (g *Gateway) known(next http.HandlerFunc) http.Handler {
	return g.guarded(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		certified := r.TLS != nil && len(r.TLS.VerifiedChains) > 0
		if g.table.Load().adminToken == nil && !certified {
			openai.WriteError(w, http.StatusForbidden, openai.NewError("permission_error", "this needs admin.token_env or admin.tls.client_ca in the configuration", "", "admin_token_missing"))
			return
		}
		next(w, r)
	}))
}
