// Package gateway is the reference gateway: tenants, limits, routing, proxying
// and metering in front of any engine.
//
// In reading order: config says what can be configured; table.go is what a
// configuration comes to, and gateway.go swaps tables; routes.go names the paths,
// dialect.go what requests and answers hold there; complete.go is the pipeline of a
// request; request.go reads and edits bodies; plan.go chooses targets by what
// features.go finds in a request; attempt.go tries them, send.go their endpoints,
// kind.go speaks their protocols; stream.go passes streams on, of whose events
// plain.go reads most and chunk.go the rest, sockets.go over WebSocket; exchange.go
// settles what was used, observe.go reports it, arms.go by target, and sketches.go
// what repeats in prompts.
package gateway
