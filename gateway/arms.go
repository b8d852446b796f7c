package gateway

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Arms of a model's traffic, by which checkpoints are compared.
const (
	armStable   = "stable"
	armCanary   = "canary"
	armFallback = "fallback"
)

// arm is the part of its model's traffic that the target serves.
func (t *target) arm() string {
	switch {
	case t.fallback:
		return armFallback
	case t.canary:
		return armCanary
	}
	return armStable
}

// armMetrics are the metrics of one target of one model, looked up once.
type armMetrics struct {
	attempts        *prometheus.CounterVec // outcome
	ttft, tpot, e2e prometheus.Observer
}

// arms looks up the metrics of all targets of a table.
func (m *metrics) arms(t *table) {
	for _, model := range t.models {
		for _, list := range [][]*target{model.targets, model.fallbacks} {
			for _, t := range list {
				alias, name, arm := model.alias, t.name, t.arm()
				t.metrics = armMetrics{
					attempts: m.attempts.MustCurryWith(prometheus.Labels{"alias": alias, "deployment": name, "arm": arm}),
					ttft:     m.ttft.WithLabelValues(alias, name, arm),
					tpot:     m.tpot.WithLabelValues(alias, name, arm),
					e2e:      m.e2e.WithLabelValues(alias, name, arm),
				}
			}
		}
	}
}

// countAttempt counts how an attempt ended at its target. Unlike requests, attempts
// that another one made good are seen: a canary whose failures fall back looks
// healthy to everybody but its own arm.
func (x *exchange) countAttempt(o outcome) {
	x.try.target.metrics.attempts.WithLabelValues(string(o)).Inc()
}

// countArm counts the time that the request took at the target that served it. Its
// tokens are counted with their tenant.
func (x *exchange) countArm(end time.Time) {
	m := &x.try.target.metrics
	if d, ok := x.ttft(); ok {
		m.ttft.Observe(d.Seconds())
	}
	if d, ok := x.tpot(); ok {
		m.tpot.Observe(d.Seconds())
	}
	if x.failure == nil {
		m.e2e.Observe(end.Sub(x.began).Seconds())
	}
}
