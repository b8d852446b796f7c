package fleet

import (
	"maps"
	"math"
	"net/url"
	"time"

	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/gateway/route"
)

// Endpoint is one server of a provider. What changes is guarded by its pool.
type Endpoint struct {
	URL  string // base, without /v1
	Host string // host:port, for logs

	inFlight int64
	tokens   int64 // estimated, of the requests in flight
	trials   int   // requests that were sent though it rests, for want of others

	dead  *health.Breaker // connections that fail
	shaky *health.Breaker // answers that fail
	cool  coolDowns       // for which it asked

	every    time.Duration // between two readings of its metrics
	said     said
	room     room
	capacity int64        // tokens of its KV cache; 0 is unknown
	index    *route.Index // of endpoint 0: itself
	stop     func()       // ends the reading of metrics; nil without
}

const never = time.Duration(math.MinInt64) / 2

// DefaultBlocks is how many blocks of prompts an endpoint is taken to hold whose
// cache has an unknown size: about 500,000 tokens, as much as an accelerator with
// 80 GB has beside a model of 8 billion parameters. The Gateway API's endpoint
// picker assumes the same number.
const DefaultBlocks = 31250

// maxBlocks bounds what an index may hold, some 80 bytes a block.
const maxBlocks = 1 << 18

// tokensPerBlock is the usual size of a prompt's block: four bytes a token, 64
// bytes a block.
const tokensPerBlock = 16

func newEndpoint(address string, s *Spec) *Endpoint {
	e := &Endpoint{
		URL: address, Host: address, said: said{at: never},
		dead: health.NewBreaker(s.Unanswered), shaky: health.NewBreaker(s.Unreliable),
		index: route.NewIndex(DefaultBlocks),
	}
	if u, err := url.Parse(address); err == nil {
		e.Host = u.Host
	}
	return e
}

// coolDowns are until when an endpoint is left alone that asked for it, by model:
// vendors limit requests for each.
type coolDowns map[string]time.Duration

func (c coolDowns) over(model string, now time.Duration) bool {
	until, ok := c[model]
	return !ok || now >= until
}

// begin leaves the endpoint alone, unless it is already, and forgets what is over.
func (c *coolDowns) begin(model string, now, d time.Duration) {
	if d <= 0 || !c.over(model, now) {
		return
	}
	if *c == nil {
		*c = coolDowns{}
	}
	maps.DeleteFunc(*c, func(_ string, until time.Duration) bool { return now >= until })
	(*c)[model] = now + min(d, MaxCoolDown)
}

// fit tells whether requests for a model should go to the endpoint.
func (e *Endpoint) fit(model string, now time.Duration) bool {
	return e.cool.over(model, now) && e.well(now)
}

// well tells whether the endpoint is known to answer.
func (e *Endpoint) well(now time.Duration) bool { return e.dead.Fit(now) && e.shaky.Fit(now) }

// tryable tells whether a request may be sent though the endpoint is not fit,
// because no other one is: only if all that is known against it is that it did not
// answer. That costs a refused connection at most, and finds at once an endpoint
// that is back. One at a time does.
func (e *Endpoint) tryable(model string, now time.Duration) bool {
	return e.cool.over(model, now) && e.shaky.Fit(now) && !e.dead.Probing(now) && e.trials == 0
}

// judged tells whether a request is under way whose outcome may make the endpoint
// fit.
func (e *Endpoint) judged(now time.Duration) bool {
	return e.trials > 0 || e.dead.Probing(now) || e.shaky.Probing(now)
}

// rests is how long the endpoint is still left alone; 0 when it is not, or when
// nobody can say.
func (e *Endpoint) rests(model string, now time.Duration) time.Duration {
	return max(0, e.cool[model]-now, e.dead.Rests(now), e.shaky.Rests(now))
}

// holds sets the size of the endpoint's KV cache, in tokens.
func (e *Endpoint) holds(tokens int64) {
	if tokens != e.capacity {
		e.capacity = tokens
		e.index.Resize(int(min(maxBlocks, max(1, tokens/tokensPerBlock))))
	}
}
