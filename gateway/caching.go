package gateway

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/llmctl/llmctl/gateway/cache"
	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/usage"
)

// answers are those that are kept, and those on their way, of every alias.
type answers struct {
	memory  *cache.Memory
	flights cache.Flights
}

func newAnswers(c *config.Config) *answers { return &answers{memory: cache.NewMemory(cacheSize(c))} }

func cacheSize(c *config.Config) int64 {
	if c.CacheSize == 0 {
		return config.DefaultCacheSize
	}
	return int64(c.CacheSize)
}

// caches are what one alias keeps.
type caches struct {
	exact    bool
	version  string // of everything that the alias's answers depend on
	ttl      time.Duration
	semantic *semantic // nil when switched off
}

// semantic is a cache by meaning.
type semantic struct {
	provider  string            // that makes embeddings
	embedders []*cache.Embedder // one per endpoint of the provider
	price     usage.Price       // of their input
	threshold float64
	timeout   time.Duration
}

// prepare adds what an alias keeps and forbids.
func (m *model) prepare(c *config.Config, mc *config.Model, env config.Environment, client *http.Client) (err error) {
	if m.input, m.output, err = newFilters(c, mc.Filters); err != nil {
		return err
	}
	m.caches, err = newCaches(c, mc, env, client)
	return err
}

func newCaches(c *config.Config, mc *config.Model, env config.Environment, client *http.Client) (*caches, error) {
	on := mc.Cache.Semantic != nil && mc.Cache.Semantic.Enabled
	if !mc.Cache.Exact && !on {
		return nil, nil
	}
	s := &caches{exact: mc.Cache.Exact, ttl: config.DefaultCacheTTL}
	if mc.Cache.TTL > 0 {
		s.ttl = time.Duration(mc.Cache.TTL)
	}
	var err error
	if on {
		if s.semantic, err = newSemantic(c, mc.Cache.Semantic, env, client); err != nil {
			return nil, fmt.Errorf("cache.semantic: %w", err)
		}
	}
	s.version, err = cache.VersionOf(mc, c.Flags, usedFilters(c, mc), usedProviders(c, mc))
	return s, err
}

func newSemantic(c *config.Config, sc *config.Semantic, env config.Environment, client *http.Client) (*semantic, error) {
	s := &semantic{provider: sc.Provider, threshold: config.DefaultSimilarity, timeout: config.DefaultEmbedding}
	var err error
	if s.price, err = usage.NewPrice(sc.USDPer1M.Input, nil, nil); err != nil {
		return nil, err
	}
	if sc.Threshold > 0 {
		s.threshold = sc.Threshold
	}
	if sc.Timeout > 0 {
		s.timeout = time.Duration(sc.Timeout)
	}
	for _, p := range c.Providers {
		if p.Name != sc.Provider {
			continue
		}
		if !p.Embeds() {
			return nil, fmt.Errorf("provider %q is of kind %s, which has no /v1/embeddings", p.Name, p.Protocol())
		}
		for _, base := range p.URLs() {
			u, err := config.ParseEndpoint(base)
			if err != nil {
				return nil, fmt.Errorf("provider %q: %w", p.Name, err)
			}
			s.embedders = append(s.embedders, &cache.Embedder{Client: client, Base: u.String(), Key: env[p.KeyEnv], Model: sc.Model})
		}
	}
	if len(s.embedders) == 0 {
		return nil, fmt.Errorf("unknown provider %q for embeddings", sc.Provider)
	}
	return s, nil
}

// usedProviders are those behind an alias, as far as answers depend on them: a
// change of limits or keys leaves what is kept valid.
func usedProviders(c *config.Config, mc *config.Model) (used [][]string) {
	for _, p := range c.Providers {
		behind := func(t config.Target) bool { return t.Provider == p.Name }
		if slices.ContainsFunc(mc.Targets, behind) || slices.ContainsFunc(mc.Fallback, behind) {
			used = append(used, append([]string{p.Name, p.Kind}, p.URLs()...))
		}
	}
	return used
}

func usedFilters(c *config.Config, mc *config.Model) (used []config.Filter) {
	for _, f := range c.Filters {
		if slices.Contains(mc.Filters, f.Name) {
			used = append(used, f)
		}
	}
	return used
}

// caching is what one request has to do with its alias's caches. The zero value
// has nothing to do.
type caching struct {
	ttl       time.Duration
	exact     *cache.Key // where the answer goes; nil when it is not to be kept
	near      *near
	embedding embeddingCall // of the question
	flight    *cache.Flight // that this request leads
	stop      func()
	recorder  *cache.Recorder

	result  string // for the log: hit, shared, semantic, miss, or why the caches were left out
	trouble error  // of the embedding
}

// near is a question with its place among similar ones.
type near struct {
	space, key cache.Key
	question   cache.Question
}

// start begins to take an answer down.
func (c *caching) start(q *request) {
	if c.exact != nil || c.near != nil {
		c.recorder = &cache.Recorder{Choices: q.choices}
	}
}

// takeDown takes an event down, as the client sees it.
func (x *exchange) takeDown(f frame) {
	if x.caching.recorder == nil {
		return
	}
	data := f.event.Data
	if x.model.rename {
		data = renamed(data, x.dialect.modelPath, x.model.alias)
	}
	x.caching.recorder.Event(data)
}

// followed tells whether somebody waits for the answer when its own client does
// not any more.
func (c *caching) followed() bool { return c.flight != nil && c.flight.Abandon() }

// end lets all who wait go on. It runs on every path.
func (c *caching) end() {
	if c.flight != nil {
		c.flight.Land(nil) // unless an answer came
		c.stop()
	}
}

// store keeps the answer, when it is complete, and hands it to those who wait for
// it. It runs before the client can see the end, so that its next request hits.
func (x *exchange) store(now time.Time) {
	c := &x.caching
	answer := c.recorder.Answer()
	if answer == nil || x.failure != nil {
		return
	}
	c.recorder = nil
	answer.Deployment, answer.Used = x.try.target.name, cache.Tokens(x.used())
	if c.flight != nil {
		defer c.flight.Land(answer) // once it is kept, so that no equal request falls between
	}
	if x.try.target.fallback {
		return // a stopgap, which must not outlast the trouble
	}
	at, tenant, memory := x.g.elapsed(now), x.who.tenant.name, x.g.answers.memory
	if c.exact != nil {
		memory.Put(tenant, *c.exact, answer, c.ttl, at)
	}
	if c.near != nil {
		memory.PutNear(tenant, c.near.space, c.near.key, c.near.question, answer, c.ttl, at)
	}
}

// steering are the client's headers that a deployment may be chosen by. Its
// session and its marks for the caches are not part of it.
func steering(h http.Header) (out []string) {
	for name, values := range h {
		if strings.HasPrefix(name, "X-Llmctl-") && name != cache.UserDataHeader {
			out = append(out, name+"="+strings.Join(values, ","))
		}
	}
	slices.Sort(out)
	return out
}

// embed asks one of the provider's endpoints for an embedding.
func (x *exchange) embed(text string) ([]float32, error) {
	s := x.model.caches.semantic
	ctx, cancel := context.WithTimeout(x.r.Context(), s.timeout)
	defer cancel()
	e := s.embedders[x.g.rand()%uint64(len(s.embedders))]
	vector, tokens, err := e.Embed(ctx, text)
	if err == nil || errors.Is(err, cache.ErrMade) {
		x.embedded(text, tokens)
	}
	return vector, err
}
