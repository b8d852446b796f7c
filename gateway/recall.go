package gateway

import (
	"bytes"
	"math"
	"strconv"
	"time"

	"github.com/llmctl/llmctl/gateway/cache"
	"github.com/llmctl/llmctl/gateway/usage"
)

// What the header x-llmctl-cache and the metrics say of a request.
const (
	cacheHit      = "hit"
	cacheShared   = "shared" // with a request that was on its way
	cacheSemantic = "semantic"
	cacheMiss     = "miss"
	cacheBypass   = "bypass"
)

// recall answers a request with an answer that is kept, or is being made for an
// equal request. It comes before anything is reserved: such an answer counts as a
// request, and takes no tokens.
func (x *exchange) recall(q *request) (answered bool, f *failure) {
	m := x.model.caches
	if m == nil {
		return false, nil
	}
	x.caching.ttl = m.ttl
	control := cache.ControlOf(x.r.Header)
	scope := cache.Scope{
		Tenant: x.who.tenant.name, Alias: x.model.alias, Version: m.version, Path: x.dialect.path,
		Steer: append(steering(x.r.Header), x.class),
	}
	if m.exact {
		if answered, f = x.recallExact(q, scope, control); answered || f != nil {
			return answered, f
		}
	}
	if m.semantic != nil {
		if answered, f = x.recallSimilar(q, scope, control); answered || f != nil {
			return answered, f
		}
	}
	label := cacheMiss
	if x.caching.exact == nil && x.caching.near == nil {
		label = cacheBypass
	}
	x.w.Header().Set("X-Llmctl-Cache", label)
	return false, nil
}

// looked counts a look into a cache.
func (x *exchange) looked(into, result string, reason cache.Bypass) {
	x.g.metrics.caches.WithLabelValues(x.model.alias, into, result, string(reason)).Inc()
	x.caching.result = result
	if reason != "" {
		x.caching.result = result + " " + string(reason)
	}
}

// recallExact looks for the answer to an equal request. When there is none, the
// first of equal requests makes it and the others wait; without a complete answer
// in the end, each goes on alone.
func (x *exchange) recallExact(q *request, scope cache.Scope, control cache.Control) (answered bool, f *failure) {
	key, reason := cache.Key{}, control.Exact(x.dialect.path, q.top)
	if reason == "" {
		var ok bool
		if key, ok = scope.Exact(q.body); !ok {
			reason = cache.BypassBody
		}
	}
	if reason != "" {
		x.looked("exact", cacheBypass, reason)
		return false, nil
	}
	x.caching.exact = &key
	if hit, ok := x.g.answers.memory.Get(scope.Tenant, key, x.g.elapsed(x.g.now())); ok && control.Accepts(hit.Age) {
		if answered, f = x.replay(q, hit, "exact", cacheHit); answered || f != nil {
			return answered, f
		}
	}
	if !control.NoCache {
		if answered, f = x.board(q, key); answered || f != nil {
			return answered, f
		}
	}
	x.looked("exact", cacheMiss, "")
	return false, nil
}

// board joins the equal requests that are on their way.
func (x *exchange) board(q *request, key cache.Key) (answered bool, f *failure) {
	flight, leads := x.g.answers.flights.Join(key)
	if leads {
		work, stop := flight.Lead(x.r.Context())
		x.r = x.r.WithContext(work)
		x.caching.flight, x.caching.stop = flight, stop
		return false, nil
	}
	if answer := flight.Wait(x.r.Context()); answer != nil {
		return x.replay(q, cache.Hit{Answer: answer}, "exact", cacheShared)
	}
	return false, interruption(x.r.Context())
}

// recallSimilar looks for the answer to a similar question. Without an embedding
// of the question in time there is none.
func (x *exchange) recallSimilar(q *request, scope cache.Scope, control cache.Control) (answered bool, f *failure) {
	n, reason, f := x.question(q, scope, control)
	if f == nil {
		f = interruption(x.r.Context())
	}
	if f != nil {
		return false, f
	}
	if reason != "" {
		x.looked("semantic", cacheBypass, reason)
		return false, nil
	}
	threshold := x.model.caches.semantic.threshold
	hit, ok := x.g.answers.memory.Near(scope.Tenant, n.space, n.question, threshold, x.g.elapsed(x.g.now()))
	if ok && control.Accepts(hit.Age) {
		if x.caching.flight != nil {
			x.caching.flight.Land(hit.Answer) // it serves those who ask the same
		}
		if answered, f = x.replay(q, hit, "semantic", cacheSemantic); answered || f != nil {
			return answered, f
		}
	}
	x.caching.near = n
	x.looked("semantic", cacheMiss, "")
	return false, nil
}

// question is what a request asks, with its place among similar questions.
func (x *exchange) question(q *request, scope cache.Scope, control cache.Control) (*near, cache.Bypass, *failure) {
	text, reason := control.Semantic(x.dialect.path, q.top)
	if reason != "" {
		return nil, reason, nil
	}
	space, ok := scope.Space(q.body)
	if !ok {
		return nil, cache.BypassBody, nil
	}
	if f := x.admitEmbedding(); f != nil {
		return nil, "", f
	}
	vector, err := x.embed(text)
	if err != nil {
		x.caching.trouble = err
		return nil, cache.BypassEmbed, nil
	}
	return &near{space: space, key: space.Entry(text), question: cache.Question{Vector: vector, Guard: cache.GuardOf(text)}}, "", nil
}

// replay gives an answer again, in the form that was asked for. One that cannot
// be put into that form is not given.
func (x *exchange) replay(q *request, hit cache.Hit, into, result string) (answered bool, f *failure) {
	var body []byte
	if q.stream {
		body = streamed(hit.Answer.Stream(q.includeUsage))
	} else if document, ok := hit.Answer.Document(); ok {
		body = document
	} else {
		return false, nil
	}
	q.free = true
	if _, f := x.reserve(q, nil); f != nil {
		return false, f
	}
	x.looked(into, result, "")
	h := x.w.Header()
	h.Set("X-Llmctl-Deployment", hit.Answer.Deployment)
	h.Set("Age", strconv.FormatInt(int64(hit.Age/time.Second), 10))
	h.Set("X-Llmctl-Cache", cacheHit)
	if result == cacheSemantic {
		h.Set("X-Llmctl-Cache", cacheSemantic)
		h.Set("X-Llmctl-Cache-Similarity", strconv.FormatFloat(math.Floor(hit.Similarity*1e4)/1e4, 'f', 4, 64))
	}
	x.caching.exact, x.caching.near = nil, nil
	saving := usage.ExactCache
	if result == cacheSemantic {
		saving = usage.SemanticCache
	}
	x.repeat(saving, hit.Answer.Deployment, usage.Tokens(hit.Answer.Used))
	x.finishReason = hit.Answer.Finish
	x.settle()
	if !q.stream {
		x.setCostHeader(h)
		x.succeed("application/json", body)
		return true, nil
	}
	x.commitStream()
	_ = x.deadline.control.Flush() // or net/http would count it, and say how long the stream is
	x.deliver(body)
	return true, nil
}

// streamed writes events as a stream.
func streamed(events [][]byte) []byte {
	var out []byte
	for _, data := range events {
		out = append(out, "data: "...)
		out = append(out, bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: "))...)
		out = append(out, "\n\n"...)
	}
	return append(out, "data: [DONE]\n\n"...)
}
