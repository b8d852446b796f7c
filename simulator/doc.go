// Package simulator runs a cluster in virtual time: the scheduler and the block
// pools of package engine, the policies of package gateway and the streams of
// package loadgen/workload, with steps that last as long as the cost model says.
// It emits the same record per request as the load generator.
//
// It is pure and runs on one goroutine: the same configuration gives the same
// records on every machine. Times are whole nanoseconds of virtual time.
//
// Where to look:
//
//   - config.go: what is simulated
//   - run.go, events.go: the clock and the order of events
//   - source.go, due.go, window.go: who sends when, and when that ends
//   - front.go, state.go: between a sender and a replica, and which replicas serve
//   - gateway.go: limits; gateway_queue.go, gateway_try.go: waiting, tries and retries
//   - route.go, provider.go, outage.go: router policies, the fallback, ways that are cut
//   - replica.go, engine.go, fast.go: one engine
//   - speculate.go, static.go, pipeline.go, offload.go: ways in which it may serve
//   - disaggregate.go: a request's way from a prefill to a decode replica
//   - fleet.go, failure.go, autoscale.go: replicas that come, fail and go
//   - account.go, meter.go: what the replicas did meanwhile
//   - observe.go, tracefile.go: who watches a run, and a trace of it
//   - watch.go: who sees how far a run is, and may end it
//   - request.go, emit.go: a request's life, and its record
package simulator
