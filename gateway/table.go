package gateway

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/gateway/check"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/gateway/route"
	"github.com/llmctl/llmctl/gateway/segments"
	"github.com/llmctl/llmctl/gateway/store"
	"github.com/llmctl/llmctl/gateway/usage"
)

// table is everything that one configuration says, ready for requests. It never
// changes once it is in use; a request keeps the one it began with.
type table struct {
	origin     time.Time // of the gateway, for models' created
	maxBody    int64
	maxAnswer  int64          // of those that are not streamed
	origins    []string       // that may use WebSocket from browsers
	keepAlive  time.Duration  // of event streams; 0 is never
	adminToken *config.Digest // nil when the admin listener is open
	answersFor time.Duration  // how long idempotency keys are remembered

	principals map[config.Digest]*principal
	scopes     []store.Scope     // of limits
	models     map[string]*model // by alias
	aliases    []string          // in the order of the configuration
	providers  []*provider
	picker     *provider      // whose endpoints are picked for Envoy; nil for none
	classes    []string       // the most urgent first
	priorities map[string]int // of classes
}

// model is an alias with what stands behind it.
type model struct {
	alias           string
	limit           config.MaxTokens
	timeouts        config.Timeouts
	retry           retryRules
	storedResponses bool    // requests may go on from what the upstream has kept
	rename          bool    // answers carry the alias in the place of the deployment's name
	hitCharge       float64 // share of the price that an answer from a cache costs
	targets         []*target
	fallbacks       []*target
	input           []*check.Filter
	output          []*check.Filter
	caches          *caches          // nil for an alias without any
	chooser         *route.Chooser   // among targets and fallbacks
	kinds           map[string]kind  // of their providers, by name
	judges          bool             // requests by their complexity
	sketch          *segments.Sketch // nil when there is to be no report
}

// target is a deployment: a model of a provider.
type target struct {
	provider *provider
	model    string
	name     string // provider/model
	canary   bool
	context  int64   // tokens that fit; 0: unknown
	factor   float64 // of its tokens that one of the gateway's estimate is
	fallback bool
	metrics  armMetrics
	patient  bool // a fallback that does not take what others have no room for
	price    usage.Price
	flag     string       // behind which it is
	share    float64      // of the traffic, or of its flag's, 0..1
	doubted  atomic.Int64 // when usage was last said to be not believed, Unix nanoseconds
}

// retryRules say how often a request is tried, and how often all of them are.
type retryRules struct {
	attempts int
	backoff  time.Duration

	mu     sync.Mutex
	budget *health.Budget
}

// newTable builds a table from a checked configuration. What lives on is taken
// from old into next, and what is new is added there.
func newTable(c *config.Config, env config.Environment, client *http.Client, old state, next *state) (*table, error) {
	t := &table{maxBody: int64(c.MaxBody), maxAnswer: cmp.Or(int64(c.MaxAnswer), config.DefaultMaxAnswer), models: map[string]*model{}, classes: classNames(c), priorities: map[string]int{}}
	for _, class := range c.AllClasses() {
		t.priorities[class.Name] = class.Priority
	}
	if t.answersFor = time.Duration(c.Idempotency.TTL); t.answersFor == 0 {
		t.answersFor = config.DefaultIdempotency
	}
	t.keepAlive = time.Duration(c.SSEKeepAlive)
	for _, o := range c.Origins {
		t.origins = append(t.origins, string(o))
	}
	if t.maxBody == 0 {
		t.maxBody = config.DefaultMaxBody
	}
	if c.Admin.TokenEnv != "" {
		d := config.DigestOf(env[c.Admin.TokenEnv])
		t.adminToken = &d
	}
	var err error
	if t.principals, err = newPrincipals(c, env); err != nil {
		return nil, err
	}
	byName := map[string]*provider{}
	for _, p := range c.Providers {
		provider := newProvider(p, env)
		byName[p.Name] = provider
		if p.Name == c.Picker.Provider {
			t.picker = provider
		}
		t.providers = append(t.providers, provider)
	}
	for i := range c.Models {
		m := newModel(&c.Models[i], byName, c.Flags)
		if err := m.prepare(c, &c.Models[i], env, client); err != nil {
			return nil, fmt.Errorf("model %q: %w", m.alias, err)
		}
		if config.On(c.Segments.Enabled) {
			m.sketch = next.sketch(old, m.alias, int(c.Segments.Excerpt))
		}
		t.models[m.alias] = m
		t.aliases = append(t.aliases, m.alias)
	}
	return t, t.price(c)
}

func newModel(c *config.Model, providers map[string]*provider, flags []config.Flag) *model {
	m := &model{
		alias: c.Alias, limit: c.MaxTokens, timeouts: c.Timeouts.WithDefaults(), rename: c.ResponseModel == "alias", storedResponses: c.StoredResponses,
		judges: c.CostCeiling != nil, kinds: map[string]kind{},
		retry: retryRules{attempts: config.DefaultAttempts, backoff: config.DefaultBackoff},
	}
	if c.Retry.Attempts > 0 {
		m.retry.attempts = int(c.Retry.Attempts)
	}
	if c.Retry.Backoff > 0 {
		m.retry.backoff = time.Duration(c.Retry.Backoff)
	}
	budget := config.DefaultRetryBudget
	if c.Retry.Budget != nil {
		budget = *c.Retry.Budget
	}
	m.retry.budget = health.NewBudget(budget)
	weights := map[string]int{} // by flag, whose targets share the requests that have it
	for _, t := range c.Targets {
		m.targets = append(m.targets, newTarget(t, providers))
		weights[t.Flag] += t.Share()
	}
	for i, t := range c.Targets {
		m.targets[i].share = float64(t.Share()) / float64(max(1, weights[t.Flag]))
	}
	for _, t := range c.Fallback {
		f := newTarget(t, providers)
		f.fallback, f.patient = true, !config.On(t.WhenSaturated)
		m.fallbacks = append(m.fallbacks, f)
	}
	for _, t := range slices.Concat(m.targets, m.fallbacks) {
		m.kinds[t.provider.kindName] = t.provider.kind
	}
	m.chooser = newChooser(c, flags, m)
	return m
}

func newTarget(c config.Target, providers map[string]*provider) *target {
	t := &target{
		provider: providers[c.Provider], model: c.Model, name: c.Provider + "/" + c.Model, canary: c.Canary,
		context: int64(c.Context), factor: c.TokensFactor, flag: c.Flag,
	}
	if t.factor == 0 {
		t.factor = 1
	}
	return t
}
