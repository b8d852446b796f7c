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
//   - source.go: who sends when: sessions, closed loops, users
//   - front.go, state.go: between a sender and a replica, and which replicas serve
//   - replica.go: one engine
//   - account.go, meter.go: what the replicas did meanwhile
//   - observe.go, watch.go, tracefile.go: who sees a run and may end it, and a trace of it
//   - request.go, emit.go: a request's life, and its record
package simulator
