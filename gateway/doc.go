// Package gateway is the reference gateway: tenants, limits, routing, proxying
// and metering in front of any engine.
//
// In reading order. What stands ready (package config says what can be configured):
//
//   - gateway.go: the gateway, which swaps tables while requests run
//   - table.go: what a configuration comes to
//   - auth.go, class.go: its tenants, keys and classes
//   - upstream.go: its providers, and the requests to them
//   - store.go: where limits are counted
//   - budgets.go: money, and what of it is spent already
//   - lifecycle.go: the end of it all
//
// A request comes in:
//
//   - routes.go: the paths; sockets.go: the same over WebSocket
//   - strange.go: what net/http would refuse by itself
//   - dialect.go, responses.go: what requests and answers hold on each path
//   - models.go: the list of aliases
//   - exchange.go: one request from its begin to its end
//   - complete.go: the order of its steps
//
// What it is:
//
//   - request.go: its body, read and edited; bodies.go: the memory for bodies
//   - outputs.go: limits of output, by all their names; stored.go: what upstreams keep
//   - estimate.go: its tokens, guessed; parts.go: those of the parts of messages
//   - checking.go: what makes no sense, or what a filter forbids
//
// Whether it costs anything:
//
//   - idempotent.go, caching.go, recall.go: answers that are given again
//   - embedding.go: the bill for finding similar ones
//   - limits.go: what it may use, reserved
//
// Where it goes:
//
//   - features.go: what it needs; plan.go: its targets
//   - attempt.go: tries at targets; send.go: at their endpoints
//   - admit.go: the wait for one of these
//   - room.go: what fits into the target's context
//   - kind.go, kind_anthropic.go: the providers' protocols
//   - timers.go: the end of what takes too long
//
// What comes back:
//
//   - readall.go: an answer, read whole; frames.go: a stream, cut into events
//   - plain.go: most of these; chunk.go: the rest; garbage.go: what is none
//   - stream.go: the way on to the client
//   - guard.go: filters of answers; rename.go: the alias in them
//   - heartbeat.go: comments in silences
//   - deadline.go: clients that do not read
//   - headers.go: what it took
//   - missing.go, shape.go: errors of upstreams, as those of OpenAI's API
//   - outcome.go: the gateway's own
//
// What is left of it:
//
//   - meter.go: tokens; counts.go: usage as upstreams write it; believe.go: what they may report
//   - heard.go: output that nobody counts; ledger.go: what it costs
//   - observe.go: the way to log, metrics and spans
//   - log.go, trace.go: lines and spans; cause.go: what went wrong, for operators
//   - metrics.go, metrics_genai.go, arms.go: metrics of requests
//   - fleet_metrics.go, limits_metrics.go, ledger_metrics.go: those of endpoints,
//     limits and the ledger
//   - sketches.go: what repeats in prompts
//
// Who else asks:
//
//   - admin.go, admin_page.go, admin_reload.go: operators, for paths, the page and a
//     new configuration
//   - state.go, state_fleet.go, state_metrics.go, live.go: what is going on
//   - picker.go: Envoy
//   - verify.go: the check of a configuration
package gateway
