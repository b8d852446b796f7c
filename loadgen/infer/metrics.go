package infer

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/profiles"
)

// FromMetrics makes a scenario of the metrics pages of a server, the earliest
// first: vLLM's, SGLang's, and those of llmctl's engine and gateway. Lengths and
// the shared prefix rest on the last page, which counts since the server began;
// the rate on what came between the first page and the last one, or, with one
// page, since the server began.
func FromMetrics(pages ...Page) (*Result, error) {
	if len(pages) == 0 {
		return nil, errors.New("no metrics page")
	}
	last := pages[len(pages)-1]
	r := &Result{}
	requests := last.requests()
	if !(requests >= 1) {
		return nil, errors.New("the metrics page counts no request that has ended, by none of the names of vLLM, SGLang and llmctl")
	}
	arrivalsOf(r, pages)
	w := &r.Scenario.Workload
	last.lengths(r, "input", &w.Input, promptHistograms, promptCounters, "input")
	last.lengths(r, "output", &w.Output, answerHistograms, answerCounters, "output")
	last.prefix(r)
	r.say("session", "not known: a page has no sessions")
	last.choices(r)
	return r.check()
}

// requests that have ended well.
func (p Page) requests() float64 {
	if n := p.where(gatewayRequests, "outcome", "ok"); n >= 1 {
		return n
	}
	if n := p.sum(requestCounters); n >= 1 {
		return n
	}
	if _, h, ok := p.histogram(promptHistograms); ok {
		return h.count
	}
	return math.NaN()
}

func arrivalsOf(r *Result, pages []Page) {
	first, last := pages[0], pages[len(pages)-1]
	const unknown = "not known: %s; give --rps or --concurrency"
	n, over, what := last.requests(), time.Duration(0), "since the server began"
	switch start := last.where(processStart, "", ""); {
	case last.At.IsZero():
		r.say("arrival", unknown, "a page alone does not say when it was fetched")
		return
	case len(pages) > 1:
		n -= first.requests()
		over, what = last.At.Sub(first.At), "between two readings of the page"
	case math.IsNaN(start):
		r.say("arrival", unknown, "the page does not say when the server began")
		return
	default:
		over = last.At.Sub(time.Unix(0, int64(start*1e9)))
	}
	if !(n >= 1) || over <= 0 {
		r.say("arrival", unknown, "no request has ended "+what)
		return
	}
	r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Poisson, RatePerS: round(n / over.Seconds())}
	r.say("arrival", "%s requests ended in %s, %s; Poisson is assumed, and how the rate changes over a day is not known",
		number(int(n)), units.Duration(over), what)
}

func (p Page) lengths(r *Result, part string, to *profiles.Distribution, histograms, counters names, kind string) {
	if name, h, ok := p.histogram(histograms); ok {
		var how string
		*to, how = h.fit()
		r.say(part, "%s requests, mean %s tokens, %s: %s", number(int(h.count)), units.Number(round(h.mean())), name, how)
		return
	}
	tokens := p.sum(counters)
	if math.IsNaN(tokens) {
		tokens = p.where(gatewayTokens, "kind", kind)
	}
	if mean := tokens / p.requests(); mean >= 1 {
		*to = profiles.Distribution{Kind: profiles.Fixed, Mean: round(mean)}
		r.say(part, "%s tokens of %s requests: the mean alone, since the page has no histogram", number(int(tokens)), number(int(p.requests())))
		return
	}
	r.say(part, "not known: the page does not count it; the command's default applies")
}

func (p Page) prefix(r *Result) {
	w := &r.Scenario.Workload
	hits, queries := p.sum(hitCounters), p.sum(queryCounters)
	if math.IsNaN(hits) {
		hits, queries = p.where(gatewayTokens, "kind", "cached"), p.where(gatewayTokens, "kind", "input")
	}
	share := hits / queries
	tokens := math.Round(min(1, share) * w.Input.Mean)
	switch {
	case !(queries > 0) || math.IsNaN(hits):
		w.Prefix.None = true
		r.say("prefix", "not known: the page does not count hits of a prefix cache; nothing shared is assumed, which takes the most hardware")
	case share < 0.005:
		w.Prefix.None = true
		r.say("prefix", "%s of %s prompt tokens were cached", percent(share), number(int(queries)))
	case w.Input.Kind == "":
		w.Prefix.None = true
		r.say("prefix", "%s of prompt tokens were cached, of prompts whose length is not known; nothing shared is assumed", percent(share))
	default:
		if samples := w.Input.Samples; samples != nil {
			lengths := make([]int, len(samples.Values))
			for i, v := range samples.Values {
				lengths[i] = int(v)
			}
			tokens = float64(prefixFor(min(1, share), lengths))
		}
		w.Prefix = profiles.Prefix{Groups: 1, Tokens: int(max(1, tokens))}
		r.say("prefix", "%s of %s prompt tokens were cached; in how many groups is not known, one is assumed", percent(share), number(int(queries)))
	}
}

func (p Page) choices(r *Result) {
	tenants := p.by(gatewayRequests, "tenant")
	if n := len(tenants); n > 1 {
		r.Scenario.Workload.Tenants = n
		r.say("tenants", "%s names; equal shares are assumed", number(n))
	} else {
		r.say("tenants", "not known")
	}
	r.say("classes", "not known: a page does not count them")
	counts := p.by(gatewayRequests, "alias")
	for _, name := range slices.Concat(promptHistograms, requestCounters) {
		if len(counts) == 0 {
			counts = p.by(name, "model_name")
		}
	}
	for name := range counts {
		if !isModelName(name) {
			delete(counts, name)
		}
	}
	models(r, counts)
}
