// Package sizing is the plan: memory, capacity, latency, replicas and money in
// closed form, each number with its derivation. Compute takes a request and
// returns a plan; nothing here reads a clock, a file or the network except to
// load the profiles that the request names.
//
// Begin with request.go (what is asked, and the defaults), compute.go (all of it
// in order) and plan.go (what is answered). Then there are four subjects:
//
//   - Memory and layout: formats.go and checkpoint.go (what weighs how much),
//     parallel.go and stage.go (who holds what), activation.go and memory.go (what
//     is left for the pool), layout.go, pools.go and blocks.go (how it is cut, and
//     what fits).
//   - Queueing: flatten.go and sessions.go (a workload as a steady stream of single
//     requests), lengths.go, mix.go and prefix.go (what requests are like),
//     timemodel.go (a replica), prefill.go, load.go and latency.go (times at a
//     rate), closed.go (a number of clients), rate.go (the largest rate that meets
//     the objective), interval.go (how far off a time may be), disaggregate.go
//     (separate pools).
//   - Money and search: replicas.go (how many), money.go (what they cost),
//     money_day.go (over a day), money_api.go (beside a hosted API); search.go,
//     search_space.go (what is tried), search_try.go (one configuration at a
//     time), search_front.go (which are worth showing).
//   - Words: derive*.go and figures.go (how each number was reached), warnings.go
//     and warnings_load.go (what to know before believing it), reasons.go,
//     excess.go and alternatives.go (why not, and what would do), range.go (near
//     the edge), command.go (a plan as a command line).
package sizing
