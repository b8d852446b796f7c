package gateway

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Totals are sums since the start, and money of today. They are read from the
// metrics, so that the page and Prometheus say the same.
type Totals struct {
	Requests     float64  `json:"requests"`
	Errors       float64  `json:"errors"` // of upstreams and of the gateway itself
	InFlight     float64  `json:"in_flight"`
	InputTokens  float64  `json:"input_tokens"`
	OutputTokens float64  `json:"output_tokens"`
	CacheHits    float64  `json:"cache_hits"`
	Limited      float64  `json:"limited"` // turned away by limits
	SavedUSD     float64  `json:"saved_usd"`
	TodayUSD     *float64 `json:"usd_today,omitempty"` // of UTC's day; by the ledger
}

// ModelState is an alias and its deployments.
type ModelState struct {
	Alias   string        `json:"alias"`
	Targets []TargetState `json:"targets"`
}

// TargetState is a deployment of an alias and how it fared since the start.
type TargetState struct {
	Deployment string   `json:"deployment"`
	Arm        string   `json:"arm"`
	Share      *float64 `json:"share,omitempty"` // of the alias's traffic, or of its flag's, 0..1; fallbacks have none
	Flag       string   `json:"flag,omitempty"`
	Attempts   float64  `json:"attempts"`
	Errors     float64  `json:"errors"`
	TTFT       *float64 `json:"mean_ttft_s,omitempty"`
	TPOT       *float64 `json:"mean_tpot_s,omitempty"`
}

// totals adds up.
func (g *Gateway) totals(ctx context.Context, now time.Time) (t Totals) {
	m := g.metrics
	for _, s := range series(m.requests) {
		t.Requests += s.value
		if o := outcome(s.labels["outcome"]); o.upstreamFault() || o == outcomeInternal {
			t.Errors += s.value
		}
	}
	for _, s := range series(m.inFlight) {
		t.InFlight += s.value
	}
	for _, s := range series(m.tokens) {
		switch s.labels["kind"] {
		case "input":
			t.InputTokens += s.value
		case "output":
			t.OutputTokens += s.value
		}
	}
	for _, s := range series(m.caches) {
		switch s.labels["result"] {
		case cacheHit, cacheShared, cacheSemantic:
			t.CacheHits += s.value
		}
	}
	for _, s := range series(m.rejections) {
		t.Limited += s.value
	}
	for _, s := range series(m.savedCost) {
		t.SavedUSD += s.value
	}
	if spent, err := g.ledger.Spending(ctx, now); err == nil {
		today := 0.0
		for _, s := range spent.Tenants {
			today += s.Day.USD()
		}
		t.TodayUSD = &today
	}
	return t
}

// modelStates are the aliases in the order of the configuration.
func (g *Gateway) modelStates(t *table) []ModelState {
	type place struct{ alias, deployment, arm string }
	attempts, failed := map[place]float64{}, map[place]float64{}
	for _, s := range series(g.metrics.attempts) {
		at := place{s.labels["alias"], s.labels["deployment"], s.labels["arm"]}
		attempts[at] += s.value
		if outcome(s.labels["outcome"]).upstreamFault() {
			failed[at] += s.value
		}
	}
	states := []ModelState{}
	for _, alias := range t.aliases {
		m := t.models[alias]
		state := ModelState{Alias: alias}
		for _, list := range [][]*target{m.targets, m.fallbacks} {
			for _, target := range list {
				at := place{alias, target.name, target.arm()}
				one := TargetState{
					Deployment: target.name, Arm: at.arm, Flag: target.flag, Attempts: attempts[at], Errors: failed[at],
					TTFT: mean(target.metrics.ttft), TPOT: mean(target.metrics.tpot),
				}
				if !target.fallback {
					one.Share = &target.share
				}
				state.Targets = append(state.Targets, one)
			}
		}
		states = append(states, state)
	}
	return states
}

// sample is one series of a metric.
type sample struct {
	labels map[string]string
	value  float64
}

// series reads a counter or a gauge.
func series(c prometheus.Collector) (all []sample) {
	metrics := make(chan prometheus.Metric)
	go func() {
		defer close(metrics)
		c.Collect(metrics)
	}()
	for metric := range metrics {
		var d dto.Metric
		if metric.Write(&d) != nil {
			continue // a metric that is none has no value
		}
		s := sample{labels: map[string]string{}, value: d.GetCounter().GetValue() + d.GetGauge().GetValue()}
		for _, l := range d.GetLabel() {
			s.labels[l.GetName()] = l.GetValue()
		}
		all = append(all, s)
	}
	return all
}

// mean is that of a histogram, absent while it is empty.
func mean(o prometheus.Observer) *float64 {
	metric, ok := o.(prometheus.Metric)
	if !ok {
		return nil
	}
	var d dto.Metric
	if err := metric.Write(&d); err != nil || d.GetHistogram().GetSampleCount() == 0 {
		return nil
	}
	v := d.GetHistogram().GetSampleSum() / float64(d.GetHistogram().GetSampleCount())
	return &v
}
