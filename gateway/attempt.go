package gateway

import (
	"cmp"
	"context"
	"fmt"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/gateway/fleet"
	"github.com/llmctl/llmctl/gateway/health"
)

// attempt is one try of a request: a target, an endpoint of it, and how far the
// request got.
type attempt struct {
	target    *target
	lease     *fleet.Lease // of an endpoint; nil until one is picked
	reached   atomic.Bool  // the upstream got at least the header
	unreached bool         // the endpoint gave no answer at all
	over      bool         // it failed, and another one is to follow
	placed    time.Time    // when it got its first endpoint; zero before that
	answered  http.Header  // of the endpoint's answer; nil without one
}

// endpoint is the one that was tried last, or nil.
func (a *attempt) endpoint() *fleet.Endpoint {
	if a.lease == nil {
		return nil
	}
	return a.lease.Endpoint()
}

// longestHint is the longest Retry-After of an upstream that is waited for;
// with a longer one, the request goes elsewhere or back to its client.
const longestHint = 5 * time.Second

// forward sends the request to the targets of its plan until one answers: to the
// alias's own in rounds, and then to its fallbacks. Once the client has seen output of
// one, there is no other: a model must not answer twice.
func (x *exchange) forward(q *request, plan []step) *failure {
	g := x.g
	ctx, cancel := context.WithCancelCause(x.r.Context())
	defer cancel(nil)
	defer context.AfterFunc(g.alive, func() { cancel(context.Cause(g.alive)) })()
	total := time.AfterFunc(time.Duration(x.model.timeouts.Total), func() { cancel(cutTotal) })
	defer total.Stop()
	x.model.retry.request(g.elapsed(g.now()))
	own := ownSteps(plan)
	var f *failure
	if own > 0 {
		f = x.rounds(ctx, q, plan[:own], plan[own:], nil)
	}
	for i := own; i < len(plan); i++ {
		if own > 0 || i > own {
			if f == nil || f.remedy == noRemedy || x.committed {
				return f
			}
			if i = next(plan, i, f); i == len(plan) {
				break
			}
		}
		f = x.rounds(ctx, q, plan[i:i+1], plan[i+1:], f)
	}
	return f
}

// ownSteps is how many steps of a plan come before its fallbacks.
func ownSteps(plan []step) int {
	for i := range plan {
		if plan[i].target.fallback {
			return i
		}
	}
	return len(plan)
}

// rounds tries targets in turn, each again after all others, until one answers or
// the tries are used up. after is what the plan has when they are, and earlier how the
// last attempt at other targets failed. A target that was sent nothing, since it had no
// room or its protocol no words, has used up no try.
func (x *exchange) rounds(ctx context.Context, q *request, steps, after []step, earlier *failure) (f *failure) {
	r := &x.model.retry
	at, m, unfit := x.following(q, steps, -1)
	if at < 0 {
		return cmp.Or(earlier, unfit)
	}
	for n := 1; ; {
		before, s := f, &steps[at]
		if last := cmp.Or(f, earlier); last != nil && x.try != nil {
			x.missed(last)
		}
		x.stepTo(s)
		x.spills = spilling(steps[at+1:], s.target) || spilling(after, s.target)
		f = x.attempt(ctx, q, s.target, m)
		s.tried = true
		if before != nil && f != nil && f.outcome.alone() {
			f = before // which says more than that nothing is left to try
			s.out = true
		}
		sent := x.try.lease != nil
		if f == nil || f.remedy == noRemedy || x.committed || sent && n >= r.attempts {
			return f
		}
		if !sent && f.saturated() {
			outOfRoom(steps, s.target.provider)
		}
		// Some cannot serve the request, or not for long.
		s.out = s.out || f.remedy == anotherTarget || f.wait > longestHint || f.deserted && len(after) > 0
		if at, m, _ = x.following(q, steps, at); at < 0 || sent && !r.grant(x.g.elapsed(x.g.now())) {
			return f
		}
		if steps[at].tried {
			x.try.over = true
			if ended := sleep(ctx, max(f.wait, health.Backoff(r.backoff, n, x.g.rand()))); ended != nil {
				return ended
			}
		} else {
			steps[at].instead = string(f.outcome)
		}
		if sent {
			n++
		}
	}
}

// outOfRoom takes out all targets of a provider: they share its room, and its queue.
func outOfRoom(steps []step, p *provider) {
	for i := range steps {
		steps[i].out = steps[i].out || steps[i].target.provider == p
	}
}

// following is the step after one, round and round, that is not out, and the request
// in its provider's protocol; −1 without any, and why the last one has no words for it.
// The plan has none that lacks them, as far as it can be known beforehand.
func (x *exchange) following(q *request, steps []step, at int) (next int, m *message, unfit *failure) {
	for i := range steps {
		next := (at + 1 + i) % len(steps)
		if steps[next].out {
			continue
		}
		if m, unfit = x.prepare(q, steps[next].target); unfit == nil {
			return next, m, nil
		}
		steps[next].out = true
	}
	return -1, nil, unfit
}

// message is a request as a target's provider takes it.
type message struct {
	path      string
	body      []byte
	hideUsage bool // of a stream: the client did not ask for it
}

// prepare puts the request into the protocol of a target's provider.
func (x *exchange) prepare(q *request, t *target) (*message, *failure) {
	body, hideUsage, err := q.fitted(t).address(x.dress(t))
	if err != nil {
		return nil, invalid(err.Error())
	}
	path, body, unfit := t.provider.kind.encode(x.dialect, x.r.URL.Path, body)
	if unfit != nil {
		return nil, unfit
	}
	return &message{path, body, hideUsage}, nil
}

// request notes a request in the retry budget.
func (r *retryRules) request(now time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.budget.Request(now)
}

// grant asks the retry budget for a retry.
func (r *retryRules) grant(now time.Duration) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.budget.Retry(now)
}

// sleep waits for d, or says why the request ended meanwhile.
func sleep(ctx context.Context, d time.Duration) *failure {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return interruption(ctx)
	}
}

// missed counts an attempt that another one follows.
func (x *exchange) missed(f *failure) {
	x.countAttempt(f.outcome)
	x.waste()
	if e := x.try.endpoint(); e != nil && f.outcome.upstreamFault() {
		x.blame(e, f)
	}
}

// blame counts an endpoint's failure. Further attempts prefer others.
func (x *exchange) blame(e *fleet.Endpoint, f *failure) {
	x.failed = append(x.failed, e)
	x.g.metrics.upstream.WithLabelValues(x.try.target.provider.name, e.URL, string(f.outcome)).Inc()
}

// attempt tries one target once: it picks an endpoint, sends the message to it, and
// passes the answer on.
func (x *exchange) attempt(ctx context.Context, q *request, t *target, m *message) (f *failure) {
	x.start(q, t)
	ctx, end := x.startAttempt(ctx, q, t)
	defer func() { end(f) }()
	x.enter(phaseAdmission)
	if f := x.admit(ctx, q, nil); f != nil {
		return f
	}
	x.enter(phaseFirst)
	x.try.placed = x.g.now()
	fared := fleet.Neutral // unless this returns
	defer func() { x.try.lease.Release(fared) }()
	f = x.exchangeWith(ctx, q, m)
	now := x.g.now()
	x.back(now)
	x.countOperation(f, now)
	fared = x.fared(f)
	return f
}

// dress is what a target's provider takes.
func (x *exchange) dress(t *target) dress {
	p := t.provider
	d := dress{model: t.model, usage: p.streamUsage}
	if p.cacheSalt {
		d.salt = x.who.tenant.salt
	}
	if p.sendPriority {
		priority := x.table.priorities[x.class]
		d.priority = &priority
	}
	return d
}

// exchangeWith sends the request to the endpoint, and passes the answer on.
func (x *exchange) exchangeWith(ctx context.Context, q *request, m *message) *failure {
	p := x.try.target.provider
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timers := newTimers(cancel, x.model.timeouts, q.stream)
	defer timers.stop()
	response, f := x.send(ctx, q, m.path, m.body)
	if f != nil {
		return f
	}
	if response.StatusCode == http.StatusSwitchingProtocols {
		_ = response.Body.Close() // a bare connection, which no context ends
		return badAnswer("the upstream switched to a protocol that nobody asked for", nil)
	}
	x.try.answered = response.Header
	x.spent.answered(response.Header)
	if !q.stream {
		x.weighAnswer(response)
	}
	response = p.kind.decode(x.dialect, response)
	defer func() { _ = response.Body.Close() }() // nothing is left to read that anybody waits for
	if response.StatusCode != http.StatusOK {
		x.coolDown(response)
		return upstreamFailure(x.dialect, x.try.target, response, x.g.now())
	}
	return x.pass(ctx, response, &relay{x: x, asked: q.stream, hideUsage: m.hideUsage, choices: q.choices, timers: timers, gate: x.model.newGate(), beat: x.newHeartbeat(cancel)})
}

// start begins an attempt with a clean slate: what an earlier one used before it
// failed is no tenant's debt (see waste).
func (x *exchange) start(q *request, t *target) {
	x.try = &attempt{target: t}
	x.account.tries++
	x.spent = meter{generates: x.dialect.generates, belief: q.belief(t)}
	x.spent.estimate.Input = q.input
	x.first, x.last, x.closed, x.finishReason = time.Time{}, time.Time{}, time.Time{}, ""
	x.answer.letGo()
	x.w.Header().Set("X-Llmctl-Deployment", t.name)
	x.caching.start(q)
}

// pass hands the answer on, in the form in which it comes.
func (x *exchange) pass(ctx context.Context, response *http.Response, r *relay) *failure {
	said := response.Header.Get("Content-Type")
	kind, _, _ := mime.ParseMediaType(said)
	switch kind {
	case "text/event-stream":
		if !r.asked {
			return badAnswer("the upstream streamed an answer that was to come as a whole", nil)
		}
		return r.stream(ctx, response)
	case "application/json", "text/plain": // some mislabel it; what is no JSON fails in whole
		return x.whole(ctx, response)
	}
	if said == "" {
		return x.whole(ctx, response)
	}
	return badAnswer("the upstream answered something that is not JSON", fmt.Errorf("content type %q", said))
}
