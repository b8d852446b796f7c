package gateway

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/limit"
)

// Options are the gateway's dependencies. Each has a default.
type Options struct {
	Logger    *slog.Logger                // one line per request; nil discards them
	Now       func() time.Time            // time.Now
	Rand      func() uint64               // uniform over uint64, for weighted targets; math/rand/v2
	Client    *http.Client                // for upstreams
	LookupEnv func(string) (string, bool) // for key_env and token_env; os.LookupEnv
}

// Gateway serves the API of one configuration. It has no goroutines of its own:
// everything runs inside the requests that a server hands it.
type Gateway struct {
	log        *slog.Logger
	now        func() time.Time
	rand       func() uint64
	client     *http.Client
	start      time.Time // origin of the limiter's clock
	maxBody    int64
	adminToken *config.Digest // nil when the admin listener is open

	principals map[config.Digest]*principal
	deploy     map[string]*deployment
	aliases    []string // in the order of the configuration
	limiter    *limit.Limiter
	metrics    *metrics

	draining atomic.Bool
	open     sync.RWMutex    // read-locked by each request, so that Close can wait for all
	alive    context.Context // ended by Close
	kill     context.CancelCauseFunc
	closing  sync.Once
}

// deployment is an alias with what stands behind it.
type deployment struct {
	alias    string
	limit    config.MaxTokens
	timeouts config.Timeouts
	targets  []target
	weights  []int // of targets, for route.Weighted
}

type target struct {
	provider *provider
	model    string
	name     string // provider/model
}

// New returns a gateway for a configuration. It reads the environment variables
// that the configuration names, and fails when one is missing.
func New(c *config.Config, o Options) (*Gateway, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	g := &Gateway{
		log: o.Logger, now: o.Now, rand: o.Rand, client: o.Client,
		maxBody: int64(c.MaxBody),
		deploy:  map[string]*deployment{},
		limiter: &limit.Limiter{},
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
	if g.maxBody == 0 {
		g.maxBody = config.DefaultMaxBody
	}
	g.start = g.now()
	if err := g.configure(c, o.LookupEnv); err != nil {
		return nil, err
	}
	g.alive, g.kill = context.WithCancelCause(context.Background())
	return g, nil
}

func (g *Gateway) configure(c *config.Config, lookup func(string) (string, bool)) error {
	if lookup == nil {
		lookup = os.LookupEnv
	}
	env, err := c.ReadEnvironment(lookup)
	if err != nil {
		return err
	}
	if g.principals, err = newPrincipals(c, g.limiter, env); err != nil {
		return err
	}
	if c.Admin.TokenEnv != "" {
		d := config.DigestOf(env[c.Admin.TokenEnv])
		g.adminToken = &d
	}
	providers := map[string]*provider{}
	for _, p := range c.Providers {
		if providers[p.Name], err = newProvider(p, env); err != nil {
			return err
		}
	}
	for _, m := range c.Models {
		d := &deployment{alias: m.Alias, limit: m.MaxTokens, timeouts: m.Timeouts.WithDefaults()}
		for _, t := range m.Targets {
			d.targets = append(d.targets, target{provider: providers[t.Provider], model: t.Model, name: t.Provider + "/" + t.Model})
			d.weights = append(d.weights, t.Share())
		}
		g.deploy[m.Alias] = d
		g.aliases = append(g.aliases, m.Alias)
	}
	g.metrics = newMetrics(g.aliases, providers)
	return nil
}

// Drain makes the gateway refuse new requests and report that it is not ready;
// those that run go on. Call it on the first signal, then shut the server down.
func (g *Gateway) Drain() { g.draining.Store(true) }

// Close drains, ends every request that still runs with an error to its client,
// and waits for all of them.
func (g *Gateway) Close() {
	g.closing.Do(func() {
		g.Drain()
		g.kill(cutShutdown)
		g.open.Lock() // from here on, TryRLock refuses
		g.client.CloseIdleConnections()
	})
}

// elapsed is the limiter's clock at t. It comes from the monotonic clock, so a
// step of the wall clock moves no bucket.
func (g *Gateway) elapsed(t time.Time) time.Duration { return t.Sub(g.start) }
