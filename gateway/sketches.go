package gateway

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/gateway/segments"
	"github.com/llmctl/llmctl/internal/openai"
)

// sketchKey tells when the sketch of a new configuration goes on where an old one
// stands.
type sketchKey struct {
	alias   string
	excerpt int
}

// sketch is the alias's, or a new one.
func (s *state) sketch(old state, alias string, excerpt int) *segments.Sketch {
	key := sketchKey{alias, excerpt}
	sketch := old.sketches[key]
	if sketch == nil {
		sketch = segments.New(excerpt)
	}
	if s.sketches == nil {
		s.sketches = map[sketchKey]*segments.Sketch{}
	}
	s.sketches[key] = sketch
	return sketch
}

// sketch takes the request's prompt into its alias's report. It runs when the
// answer is out, so nobody waits for it.
func (x *exchange) sketch(q *request) {
	if x.model.sketch == nil || !q.dialect.generates {
		return
	}
	x.model.sketch.Add(x.began, x.who.tenant.name, q.segments())
}

// segments are the parts of the prompt, in the order in which engines render them.
// Those that come late are left out: it is beginnings that repeat.
func (q *request) segments() []segments.Segment {
	all := make([]segments.Segment, 0, 4)
	for _, part := range promptFields {
		field := q.fields[part]
		switch {
		case field.Raw == "" || field.Type == gjson.Null:
		case !field.IsArray() || part == "tools" || part == "prompt":
			all = append(all, segments.Segment{Part: part, Index: -1, Text: content(field, field)})
		default:
			index := 0
			field.ForEach(func(_, message gjson.Result) bool {
				all = append(all, segments.Segment{Part: part, Index: index, Role: message.Get("role").Str, Text: content(message.Get("content"), message)})
				index++
				return index < segments.MaxSegments
			})
		}
	}
	return all
}

// content is the JSON text of a string, else of all that holds it.
func content(v, all gjson.Result) string {
	if v.Type == gjson.String {
		return v.Raw[1 : len(v.Raw)-1]
	}
	return all.Raw
}

// listSegments answers with the report of one alias, or of all, as JSON or, with
// format=text, for people.
func (g *Gateway) listSegments(w http.ResponseWriter, r *http.Request) {
	table := g.table.Load()
	aliases := table.aliases
	if alias := r.URL.Query().Get("alias"); alias != "" {
		if !slices.Contains(aliases, alias) {
			openai.WriteError(w, http.StatusNotFound, openai.NewError("invalid_request_error", "no such model", "alias", "model_not_found"))
			return
		}
		aliases = []string{alias}
	}
	reports := []segments.Report{}
	for _, alias := range aliases {
		if sketch := table.models[alias].sketch; sketch != nil {
			report := sketch.Report()
			report.Alias = alias
			reports = append(reports, report)
		}
	}
	if r.URL.Query().Get("format") == "text" || strings.HasPrefix(r.Header.Get("Accept"), "text/plain") {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_ = segments.WriteText(w, reports) // the client may have left; there is nobody to tell
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(struct {
		Schema  string            `json:"schema"`
		Aliases []segments.Report `json:"aliases"`
	}{"llmctl/segments/v1", reports})
}
