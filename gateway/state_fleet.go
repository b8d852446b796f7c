package gateway

import "github.com/llmctl/llmctl/gateway/fleet"

// EndpointState is a server of a provider. What its own metrics do not say, or said
// too long ago, is left out.
type EndpointState struct {
	Provider   string      `json:"provider"`
	URL        string      `json:"url"`
	State      fleet.State `json:"state"`
	Full       bool        `json:"full"` // takes no more for now
	InFlight   int64       `json:"in_flight"`
	Running    *float64    `json:"running,omitempty"`
	Waiting    *float64    `json:"waiting,omitempty"`
	KVUsage    *float64    `json:"kv_usage,omitempty"` // 0..1
	MetricsAge *float64    `json:"metrics_age_s,omitempty"`
	Blocks     int         `json:"cached_blocks"` // of prompts that it should hold
}

// fleetState is what is known of the providers of the table, in its order.
func (g *Gateway) fleetState(t *table) (endpoints []EndpointState, queues []QueueState) {
	endpoints, queues = []EndpointState{}, []QueueState{}
	for _, p := range t.providers {
		status := p.pool.Status()
		for _, class := range t.classes {
			queues = append(queues, QueueState{p.name, class, status.Waiting[class]})
		}
		for _, e := range status.Endpoints {
			state := EndpointState{
				Provider: p.name, URL: e.URL, State: e.State, Full: e.Full, InFlight: e.InFlight,
				Running: e.Running, Waiting: e.Waiting, KVUsage: e.KVUsage, Blocks: e.Blocks,
			}
			if e.Age != nil {
				age := e.Age.Seconds()
				state.MetricsAge = &age
			}
			endpoints = append(endpoints, state)
		}
	}
	return endpoints, queues
}
