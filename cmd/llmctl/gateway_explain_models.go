package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/gateway/config"
	"github.com/llmctl/llmctl/gateway/health"
	"github.com/llmctl/llmctl/gateway/route"
)

func explainProviders(c *config.Config) (blocks []block) {
	for _, p := range c.Providers {
		b := block{title: "provider " + p.Name}
		b.row("kind", "%s", p.Protocol())
		b.row("endpoints", "%s", strings.Join(p.URLs(), " "))
		if p.KeyEnv != "" {
			b.row("key", "in %s", p.KeyEnv)
		}
		picked := p.Policy()
		if picked == config.PolicyPrefixAffinity {
			picked += fmt.Sprintf(", up to %s times the mean load", number(valueOr(p.Router.LoadCap, route.DefaultLoadCap)))
		}
		b.row("picked by", "%s", picked)
		metrics := config.MetricsNone
		if p.Watched() {
			metrics = fmt.Sprintf("%s, every %s", p.Metrics, lastingOr(p.MetricsEvery, config.DefaultMetricsEvery))
		}
		b.row("metrics", "%s", metrics)
		b.row("sends", "%s", explainSends(p))
		room := "no bound"
		if p.InFlight > 0 {
			room = fmt.Sprintf("%d at once", p.InFlight)
		}
		b.row("in flight", "%s", room)
		b.row("queue", "at most %d wait, for up to %s", cmp.Or(p.MaxQueue, config.DefaultMaxQueue), lastingOr(p.QueueTimeout, config.DefaultQueueTimeout))
		var shed remarks
		shed.add(p.Shed.Queue > 0, "from %d that wait in an engine", p.Shed.Queue)
		shed.add(p.Shed.KVUsage > 0, "from %s of its KV cache", percent(p.Shed.KVUsage))
		b.row("shed", "%s", shed.or("never"))
		b.row("breaker", "%s", explainBreaker(p.Breaker))
		if p.LimitHeaders {
			b.row("limits", "of the upstream are shown to clients")
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// explainSends is what the gateway adds to requests.
func explainSends(p config.Provider) string {
	if p.Kind == config.KindAnthropic {
		return "requests of its protocol"
	}
	var says remarks
	says.add(config.On(p.CacheSalt), "cache_salt")
	says.add(config.On(p.StreamUsage), "stream_options")
	says.add(p.SendPriority, "priority")
	return says.or("nothing of its own")
}

func explainBreaker(b config.Breaker) string {
	rules := health.Unreliable()
	return fmt.Sprintf("%s of at least %d failed within %s; rests %s, then %s", percent(cmp.Or(b.FailureRate, rules.FailureRate)),
		cmp.Or(int64(b.MinRequests), rules.MinRequests), lastingOr(b.Window, rules.Window), lastingOr(b.Open, rules.Open),
		several(cmp.Or(int(b.Probes), rules.Probes), "probe"))
}

func explainModels(c *config.Config) (blocks []block) {
	for _, m := range c.Models {
		b := block{title: "model " + m.Alias}
		explainTargets(&b, &m)
		if m.CostCeiling != nil {
			b.row("cost ceiling", "$%s a request, unless its complexity is %s", number(float64(m.CostCeiling.USDPerRequest)), number(m.CostCeiling.UnlessComplexity))
		}
		var output remarks
		output.add(m.MaxTokens.Default > 0, "%d by default", m.MaxTokens.Default)
		output.add(m.MaxTokens.Cap > 0, "at most %d", m.MaxTokens.Cap)
		b.row("max_tokens", "%s", output.or("as the client says"))
		t := m.Timeouts.WithDefaults()
		b.row("time-outs", "first token %s, idle %s, total %s", lastingOr(t.FirstToken, 0), lastingOr(t.Idle, 0), lastingOr(t.Total, 0))
		b.row("retry", "%s in all, after %s, %s per request", several(int(cmp.Or(m.Retry.Attempts, config.DefaultAttempts)), "attempt"),
			lastingOr(m.Retry.Backoff, config.DefaultBackoff), number(valueOr(m.Retry.Budget, config.DefaultRetryBudget)))
		b.row("cache", "%s", explainCache(m.Cache))
		b.row("filters", "%s", cmp.Or(strings.Join(m.Filters, " "), "none"))
		says := "the upstream's"
		if m.ResponseModel == config.ResponseAlias {
			says = "the alias"
		}
		b.row("model told", "%s", says)
		if m.StoredResponses {
			b.row("responses", "go on from what the upstream has kept")
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// explainTargets has a row for each deployment; targets of one flag share the
// requests that have it.
func explainTargets(b *block, m *config.Model) {
	sums := map[string]int{}
	for _, t := range m.Targets {
		sums[t.Flag] += t.Share()
	}
	for _, t := range m.Targets {
		of := "requests"
		if t.Flag != "" {
			of = "flag " + t.Flag
		}
		label := "target"
		if t.Canary {
			label = "canary"
		}
		b.row(label, "%s: %s of %s%s", t.Provider+"/"+t.Model, percent(float64(t.Share())/float64(max(1, sums[t.Flag]))), of, conditions(t))
	}
	for _, t := range m.Fallback {
		text := "after failures"
		if config.On(t.WhenSaturated) {
			text += " and when there is no room"
		}
		if t.Flag != "" {
			text += ", flag " + t.Flag
		}
		b.row("fallback", "%s: %s%s", t.Provider+"/"+t.Model, text, conditions(t))
	}
	b.row("drawn by", "%s", cmp.Or(m.Sticky, config.StickyRequest))
}

// conditions are what a target can do, which requests it takes and what it costs.
func conditions(t config.Target) string {
	var says remarks
	says.add(t.Classes != nil, "classes %s", listed(t.Classes))
	says.add(t.Capabilities != nil, "can %s", cmp.Or(strings.Join(t.Capabilities, " "), "nothing in particular"))
	says.add(t.Context > 0, "up to %d tokens", t.Context)
	says.add(t.TokensFactor > 0, "tokens ×%s", number(t.TokensFactor))
	says.add(t.USDPer1M != config.Price{}, "%s", prices(t.USDPer1M))
	if len(says) == 0 {
		return ""
	}
	return ", " + says.or("")
}

// prices are $ per million tokens.
func prices(p config.Price) string {
	var says []string
	for _, of := range []struct {
		what  string
		price *float64
	}{{"in", p.Input}, {"cached", p.CachedInput}, {"out", p.Output}} {
		if of.price != nil {
			says = append(says, "$"+number(*of.price)+" "+of.what)
		}
	}
	return strings.Join(says, " / ") + " per 1M"
}

func explainCache(c config.Cache) string {
	s := c.Semantic
	similar := s != nil && s.Enabled
	if !c.Exact && !similar {
		return "none"
	}
	var says remarks
	says.add(c.Exact, "equal requests")
	if similar {
		says.add(true, "similar ones from %s, by %s/%s within %s", number(cmp.Or(s.Threshold, config.DefaultSimilarity)), s.Provider, s.Model, lastingOr(s.Timeout, config.DefaultEmbedding))
		says.add(s.USDPer1M.Input != nil, "%s", prices(config.Price{Input: s.USDPer1M.Input}))
	}
	says.add(true, "for %s", lastingOr(c.TTL, config.DefaultCacheTTL))
	says.add(true, "charged %s", percent(valueOr(c.Charge, 0)))
	return says.or("")
}
