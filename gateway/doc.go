// Package gateway is the reference gateway: tenants, limits, routing, proxying
// and metering in front of any engine.
//
// In reading order:
//
//   - What stands ready. Package config says what can be configured; table.go is what a
//     configuration comes to, of tenants and keys (auth.go, class.go) and of providers
//     (upstream.go); gateway.go swaps tables while requests run, store.go opens where
//     limits are counted, budgets.go reckons with money and tells them what is spent already, lifecycle.go
//     ends it all.
//   - A request comes in. routes.go names the paths, sockets.go the same over WebSocket;
//     strange.go refuses what net/http would answer by itself; dialect.go and responses.go are what requests and answers hold there, models.go
//     lists aliases. exchange.go is one request from its begin to its end, complete.go
//     the order of its steps.
//   - What it is. request.go reads and edits its body, which readall.go takes in within what bodies.go leaves of
//     the memory; estimate.go guesses its tokens, checking.go refuses what makes no sense
//     or a filter forbids.
//   - Whether it costs anything. idempotent.go, caching.go and recall.go give answers
//     again, embedding.go bills what finding similar ones takes; limits.go reserves what it may use.
//   - Where it goes. features.go finds what it needs, plan.go chooses its targets;
//     attempt.go tries them, send.go their endpoints, admit.go waits for one of these,
//     room.go fits it into the target's context. kind.go and kind_anthropic.go speak the
//     providers' protocols, timers.go ends what takes too long.
//   - What comes back. stream.go passes on what frames.go cuts, of which plain.go reads
//     most and chunk.go the rest, guard.go
//     filters it, rename.go puts the alias in, heartbeat.go breaks silences, deadline.go
//     bounds clients that do not read; headers.go tells what it took. missing.go and
//     shape.go make errors of upstreams those of OpenAI's API, outcome.go has the
//     gateway's own.
//   - What is left of it. meter.go counts tokens and ledger.go their cost; observe.go
//     brings them to the log (log.go), the metrics (metrics.go, metrics_genai.go,
//     arms.go) and the spans (trace.go); sketches.go keeps what repeats in prompts.
//   - What is published besides: of endpoints (fleet_metrics.go), limits
//     (limits_metrics.go) and the ledger (ledger_metrics.go).
//   - What operators see. admin.go has the paths, admin_reload.go takes a new
//     configuration, state.go, state_fleet.go, state_metrics.go and live.go are what is
//     going on, admin_page.go shows it.
//   - What Envoy asks: picker.go. What a check of a configuration asks: verify.go.
package gateway
