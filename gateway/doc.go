// Package gateway is the reference gateway: tenants, limits, routing, proxying
// and metering in front of any engine.
//
// In reading order: config.go says what can be configured; gateway.go builds
// the state from it; routes.go names the endpoints; complete.go is the pipeline
// of a completion; request.go reads and edits bodies; upstream.go sends; stream.go
// passes streams on; exchange.go settles what was used, observe.go reports it.
package gateway
