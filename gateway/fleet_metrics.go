package gateway

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/llmctl/llmctl/gateway/fleet"
)

// endpoints publishes what is known of the endpoints and queues of now. Those that
// a new configuration has dropped are gone from the page.
type endpoints struct{ g *Gateway }

func endpointDesc(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(prefix+"endpoint_"+name, help, append([]string{"provider", "endpoint"}, more...), nil)
}

var (
	endpointInFlight = endpointDesc("in_flight", "Requests in flight at an endpoint, from this gateway.")
	endpointUp       = endpointDesc("up", "1 when requests are sent to an endpoint, 0 when it is left alone.")
	endpointState    = endpointDesc("state", "1 for the state that an endpoint is in: up, cooling, resting, probing.", "state")
	endpointRunning  = endpointDesc("running", "Requests that run in an endpoint, as it says.")
	endpointWaiting  = endpointDesc("waiting", "Requests that wait in an endpoint, as it says.")
	endpointKVUsage  = endpointDesc("kv_usage_ratio", "Share of an endpoint's KV cache in use, as it says.")
	queueLength      = prometheus.NewDesc(prefix+"queue_length", "Requests that wait for an endpoint.", []string{"provider", "class"}, nil)
)

var endpointStates = []fleet.State{fleet.Up, fleet.Cooling, fleet.Resting, fleet.Probing}

// Describe implements prometheus.Collector.
func (endpoints) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{endpointInFlight, endpointUp, endpointState, endpointRunning, endpointWaiting, endpointKVUsage, queueLength} {
		to <- d
	}
}

// Collect implements prometheus.Collector.
func (c endpoints) Collect(to chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	t := c.g.table.Load()
	for _, p := range c.g.fleet.Status() {
		for _, class := range t.classes {
			gauge(queueLength, float64(p.Waiting[class]), p.Provider, class)
		}
		for i := range p.Endpoints {
			e := &p.Endpoints[i]
			gauge(endpointInFlight, float64(e.InFlight), p.Provider, e.URL)
			gauge(endpointUp, truth(e.State == fleet.Up), p.Provider, e.URL)
			for _, s := range endpointStates {
				gauge(endpointState, truth(e.State == s), p.Provider, e.URL, string(s))
			}
			for _, said := range []struct {
				desc  *prometheus.Desc
				value *float64
			}{{endpointRunning, e.Running}, {endpointWaiting, e.Waiting}, {endpointKVUsage, e.KVUsage}} {
				if said.value != nil {
					gauge(said.desc, *said.value, p.Provider, e.URL)
				}
			}
		}
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
