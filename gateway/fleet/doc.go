// Package fleet is the live state of providers' endpoints: how much each has to do
// by the gateway's own count and by its own metrics, whether it answers, which
// prompts its cache should hold, and who waits for a place at one of them.
//
// It joins the pure policies beside it to the clock and the network: route picks
// an endpoint, health keeps requests away from those that fail, queue orders the
// requests that wait.
//
//   - spec.go: what a configuration says of a provider
//   - fleet.go: all pools, through changes of the configuration
//   - pool.go: a provider's endpoints, and which of them takes a request
//   - acquire.go: a request gets a place, waits for one, or is refused
//   - lease.go: a place at an endpoint, and how the request fared there
//   - endpoint.go: one endpoint: counts, breakers, cool-down
//   - said.go: what its metrics say, and what follows from that
//   - scrape.go: reading them
//   - status.go: a picture of it all for people and metrics
package fleet
