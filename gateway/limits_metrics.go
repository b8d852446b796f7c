package gateway

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llmctl/llmctl/gateway/store"
)

// limitsStore publishes how the store of limits fares, where it is one that can
// fail.
type limitsStore struct{ g *Gateway }

var (
	limitsUp      = prometheus.NewDesc(prefix+"limits_store_up", "1 while the shared store of limits can be reached, else 0.", nil, nil)
	limitsBacklog = prometheus.NewDesc(prefix+"limits_store_backlog", "Settlements that wait for the store.", nil, nil)
	limitsDropped = prometheus.NewDesc(prefix+"limits_store_dropped_total", "Settlements that were given up, since too many waited.", nil, nil)
)

// Describe implements prometheus.Collector.
func (limitsStore) Describe(to chan<- *prometheus.Desc) {
	to <- limitsUp
	to <- limitsBacklog
	to <- limitsDropped
}

// Collect implements prometheus.Collector.
func (c limitsStore) Collect(to chan<- prometheus.Metric) {
	r, ok := c.g.limits.(*store.Redis)
	if !ok {
		return
	}
	h := r.Health()
	up := 1.0
	if h.Down {
		up = 0
	}
	to <- prometheus.MustNewConstMetric(limitsUp, prometheus.GaugeValue, up)
	to <- prometheus.MustNewConstMetric(limitsBacklog, prometheus.GaugeValue, float64(h.Backlog))
	to <- prometheus.MustNewConstMetric(limitsDropped, prometheus.CounterValue, float64(h.Dropped))
}
