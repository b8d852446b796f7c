package gateway

import (
	"go.opentelemetry.io/otel/trace"

	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/gateway/check"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/gateway/idempotency"
	"github.com/llmctl/llmctl/gateway/reload"
	"github.com/llmctl/llmctl/gateway/segments"
	"github.com/llmctl/llmctl/gateway/store"
	"github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/gateway/websocket"
)

// Options are the gateway's dependencies. Each has a default.
type Options struct {
	Logger    *slog.Logger                // one line per request; nil discards them
	Now       func() time.Time            // time.Now
	Rand      func() uint64               // uniform over uint64, for weights and jitter; math/rand/v2
	Client    *http.Client                // for upstreams
	Traces    trace.TracerProvider        // of OpenTelemetry; nil makes no spans, and the client's context goes on upstream
	LookupEnv func(string) (string, bool) // for the variables that the configuration names; os.LookupEnv
	// Ledger keeps usage, and is closed by its owner after the gateway. Without one
	// the gateway keeps sums in memory, whatever the configuration says: who opens
	// files and databases is the caller's decision.
	Ledger *usage.Ledger
	// LinesDropped is how many lines the Logger could not keep, for the metrics; nil
	// when it keeps all.
	LinesDropped func() int64
}

// Gateway serves the API of one configuration at a time. What a configuration
// says is in a table that Reload replaces; what has happened, in the state here,
// which outlives tables. Everything runs inside the requests that a server hands it,
// but for the ledger's writer and the reading of endpoints' metrics.
type Gateway struct {
	log    *slog.Logger
	now    func() time.Time
	rand   func() uint64
	lookup func(string) (string, bool)
	client *http.Client
	tracer trace.Tracer // nil when nobody wants spans
	start  time.Time    // origin of the limiter's clock

	table     atomic.Pointer[table]
	reloading sync.Mutex // one Reload at a time
	state     state
	checks    check.Chain // that every request passes
	answers   *answers    // that are kept
	fleet     *fleet.Fleet
	limits    store.Limits
	keys      idempotency.Keys
	metrics   *metrics
	ledger    *usage.Ledger
	ownLedger bool
	lives     lives
	bodies    bodies // of requests
	envoys    bodies // of those, what came by way of Envoy, by fairness id
	wholes    bodies // of answers that are not streamed
	sockets   *websocket.Server

	file     atomic.Pointer[reload.File] // that the configuration is from; nil without one
	leaving  atomic.Bool
	draining atomic.Bool
	open     sync.RWMutex    // read-locked by each request, so that Close can wait for all
	alive    context.Context // ended by Close
	kill     context.CancelCauseFunc
	closing  sync.Once
}

// state is what a new configuration must not forget. Its maps are written by
// Reload alone.
type state struct {
	sketches map[sketchKey]*segments.Sketch
}

// New returns a gateway for a configuration. It reads the environment variables
// that the configuration names, and fails when one is missing.
func New(c *config.Config, o Options) (*Gateway, error) {
	g := &Gateway{
		log: o.Logger, now: o.Now, rand: o.Rand, client: o.Client, lookup: o.LookupEnv,
		checks: check.Requests(), answers: newAnswers(c),
	}
	if g.log == nil {
		g.log = slog.New(slog.DiscardHandler)
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.rand == nil {
		g.rand = rand.Uint64
	}
	if g.client == nil {
		g.client = newClient()
	}
	if g.lookup == nil {
		g.lookup = os.LookupEnv
	}
	g.ledger = o.Ledger
	if o.Traces != nil {
		g.tracer = o.Traces.Tracer("github.com/llmctl/llmctl/gateway")
	}
	g.start = g.now()
	g.fleet = fleet.New(fleet.Options{Now: func() time.Duration { return g.elapsed(g.now()) }, Client: g.client})
	g.sockets = g.newSockets()
	g.metrics = newMetrics(g)
	if o.LinesDropped != nil {
		g.metrics.linesDropped(o.LinesDropped)
	}
	if err := g.Reload(c); err != nil {
		return nil, err
	}
	if g.ledger == nil {
		g.ledger, g.ownLedger = usage.NewMemory(usage.Options{Logger: g.log}), true
	}
	g.alive, g.kill = context.WithCancelCause(context.Background())
	return g, nil
}

// Reload replaces the configuration. Requests that run go on with the one they
// began with; limits, breakers and counts live on where their names do. On an
// error nothing has changed. Addresses to listen on are the caller's business.
func (g *Gateway) Reload(c *config.Config) error {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if err := c.Validate(); err != nil {
		return err
	}
	env, err := c.ReadEnvironment(g.lookup)
	if err != nil {
		return err
	}
	next := state{}
	t, err := newTable(c, env, g.client, g.state, &next)
	if err != nil {
		return err
	}
	specs, err := newSpecs(c)
	if err != nil {
		return err
	}
	t.origin = g.start
	if err := g.openStore(c.Store, env); err != nil {
		return err
	}
	for i, pool := range g.fleet.Configure(specs) { // nothing can fail any more
		t.providers[i].pool = pool
	}
	t.scopes = scopesOf(c)
	g.limits.Configure(t.scopes)
	g.state = next
	g.answers.memory.Resize(cacheSize(c))
	g.metrics.prepare(t)
	g.seedBudgets(context.Background(), t.scopes)
	g.table.Store(t)
	return nil
}

// newSpecs is what a configuration says of endpoints and queues.
func newSpecs(c *config.Config) ([]fleet.Spec, error) {
	specs := make([]fleet.Spec, len(c.Providers))
	for i, p := range c.Providers {
		var err error
		if specs[i], err = fleet.NewSpec(p, c.AllClasses()); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// elapsed is the limiter's clock at t. It comes from the monotonic clock, so a
// step of the wall clock moves no bucket.
func (g *Gateway) elapsed(t time.Time) time.Duration { return t.Sub(g.start) }
