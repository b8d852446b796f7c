package gateway

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/internal/openai"
)

// classHeader is where a client names the latency class of its request.
const classHeader = "X-Llmctl-Class"

// classNames are the configured classes, the most urgent first.
func classNames(c *config.Config) []string {
	var names []string
	for _, class := range c.AllClasses() {
		names = append(names, class.Name)
	}
	return names
}

// classScope is which classes a key's requests may ask for.
type classScope struct {
	allowed []string // the most urgent first
	usual   string   // of requests that ask for none
}

// newClassScope is what remains of the classes by the tenant's and the key's list;
// an absent list allows all.
func newClassScope(all []string, t config.Tenant, k config.Key) classScope {
	s := classScope{usual: t.Priority}
	for _, name := range all {
		if (t.Classes == nil || slices.Contains(t.Classes, name)) && (k.Classes == nil || slices.Contains(k.Classes, name)) {
			s.allowed = append(s.allowed, name)
		}
	}
	if !slices.Contains(s.allowed, s.usual) && len(s.allowed) > 0 {
		s.usual = s.allowed[0]
	}
	return s
}

// classify finds the request's class and checks that its key may ask for it.
func (x *exchange) classify() *failure {
	asked := x.r.Header.Get(classHeader)
	scope := &x.who.classes
	switch {
	case asked == "":
		x.class = scope.usual
	case slices.Contains(scope.allowed, asked):
		x.class = asked
	case !slices.Contains(x.table.classes, asked):
		return invalid(fmt.Sprintf("no such class: %s may be %s", strings.ToLower(classHeader), strings.Join(scope.allowed, ", ")))
	default:
		return &failure{status: http.StatusForbidden, outcome: outcomeForbidden, cause: fmt.Errorf("the key may not use class %q, only %s", asked, strings.Join(scope.allowed, ", ")),
			body: openai.NewError("permission_error", "this key may not use the class", "", "class_not_allowed")}
	}
	return nil
}
