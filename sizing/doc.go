// Package sizing is the plan: memory, capacity, latency, replicas and money in
// closed form, each number with its derivation. Compute takes a request and
// returns a plan; nothing here reads a clock, a file or the network except to
// load the profiles that the request names.
//
// Reading order: request.go (what is asked, and the defaults), memory.go and
// layout.go (what fits), mix.go (what one request is like), load.go (latency at
// a rate), rate.go (the largest rate that meets the objective), fleet.go
// (replicas), money.go (what they cost; money_day.go over a day, money_api.go
// beside a hosted API), compute.go (all of it in order). Explore searches for the
// best request: search.go, search_space.go (what is tried), search_try.go (one
// configuration at a time), search_front.go (which are worth showing).
package sizing
