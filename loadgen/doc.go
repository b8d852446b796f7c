// Package loadgen is the load generator: run loop, SSE client and telemetry.
package loadgen
