package gateway

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llmctl/llmctl/gateway/usage"
	"github.com/llmctl/llmctl/internal/optional"
)

// money are the metrics of what requests used, cost and saved. They count what the
// ledger keeps, so that both say the same.
type money struct {
	tokens      *prometheus.CounterVec // tenant, alias, deployment, arm, kind
	cost        *prometheus.CounterVec // tenant, alias, deployment
	unpriced    *prometheus.CounterVec // the same
	savedTokens *prometheus.CounterVec // tenant, alias, deployment, by, kind
	savedCost   *prometheus.CounterVec // tenant, alias, deployment, by
	wasted      *prometheus.CounterVec // alias, deployment, kind
	wastedCost  *prometheus.CounterVec // alias, deployment
}

func newMoney() money {
	counter := func(name, help string, more ...string) *prometheus.CounterVec {
		labels := append([]string{"tenant", "alias", "deployment"}, more...)
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + name, Help: help}, labels)
	}
	return money{
		tokens:      counter("tokens_total", "Tokens that requests were charged for; cached ones are part of input, reasoning ones of output.", "arm", "kind"),
		cost:        counter("cost_usd_total", "What requests were charged, where the price is known."),
		unpriced:    counter("unpriced_requests_total", "Requests whose cost is unknown, for their deployment has no price."),
		savedTokens: counter("saved_tokens_total", "Tokens that were not generated, by what saved them; by=\"cancellation\" is an upper bound.", "by", "kind"),
		savedCost:   counter("saved_usd_total", "What the saved tokens would have cost, less what was charged for them.", "by"),
		wasted: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "failed_tries_tokens_total",
			Help: "Tokens that upstreams report of tries that brought no answer; no tenant pays for them."}, []string{"alias", "deployment", "kind"}),
		wastedCost: prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "failed_tries_cost_usd_total",
			Help: "What they cost the operator, where the price is known."}, []string{"alias", "deployment"}),
	}
}

func (m *money) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.tokens, m.cost, m.unpriced, m.savedTokens, m.savedCost, m.wasted, m.wastedCost}
}

// used counts a request.
func (m *money) used(r *usage.Record) {
	deployment := ""
	if r.Provider != "" {
		deployment = r.Provider + "/" + r.Model
	}
	tokens := func(vec *prometheus.CounterVec, n int64, labels ...string) {
		if n > 0 {
			vec.WithLabelValues(append([]string{r.Tenant, r.Alias, deployment}, labels...)...).Add(float64(n))
		}
	}
	dollars := func(vec *prometheus.CounterVec, n usage.NanoUSD, labels ...string) {
		if n > 0 {
			vec.WithLabelValues(append([]string{r.Tenant, r.Alias, deployment}, labels...)...).Add(n.USD())
		}
	}
	told := func(n optional.Count, kind string) { // a series of zeros says more than none
		if n, ok := n.Value(); ok {
			m.tokens.WithLabelValues(r.Tenant, r.Alias, deployment, r.Arm, kind).Add(float64(n))
		}
	}
	tokens(m.tokens, r.Tokens.Input, r.Arm, "input")
	told(r.Tokens.Cached, "cached")
	tokens(m.tokens, r.Tokens.Output, r.Arm, "output")
	told(r.Tokens.Reasoning, "reasoning")
	if cost, ok := r.Cost.Total().Value(); ok {
		dollars(m.cost, cost)
	} else {
		tokens(m.unpriced, 1)
	}
	if by := string(r.Saved.By); by != "" {
		tokens(m.savedTokens, r.Saved.Input, by, "input")
		tokens(m.savedTokens, r.Saved.Output, by, "output")
		saved, _ := r.Saved.Cost.Value()
		dollars(m.savedCost, saved, by)
	}
}

// ledgerStats publishes how the ledger fares.
type ledgerStats struct{ g *Gateway }

var (
	recordsDesc = prometheus.NewDesc(prefix+"usage_records_total", "Records of usage: written to the store, or lost.", []string{"event"}, nil)
	waitingDesc = prometheus.NewDesc(prefix+"usage_records_waiting", "Records of usage that wait for the store.", nil, nil)
	failingDesc = prometheus.NewDesc(prefix+"usage_store_failing", "1 while the store of usage takes no records.", nil, nil)
)

// Describe implements prometheus.Collector.
func (ledgerStats) Describe(out chan<- *prometheus.Desc) {
	out <- recordsDesc
	out <- waitingDesc
	out <- failingDesc
}

// Collect implements prometheus.Collector.
func (l ledgerStats) Collect(out chan<- prometheus.Metric) {
	s := l.g.ledger.Stats()
	failing := 0.0
	if s.Failing {
		failing = 1
	}
	out <- prometheus.MustNewConstMetric(recordsDesc, prometheus.CounterValue, float64(s.Written), "written")
	out <- prometheus.MustNewConstMetric(recordsDesc, prometheus.CounterValue, float64(s.Lost), "lost")
	out <- prometheus.MustNewConstMetric(waitingDesc, prometheus.GaugeValue, float64(s.Waiting))
	out <- prometheus.MustNewConstMetric(failingDesc, prometheus.GaugeValue, failing)
}
