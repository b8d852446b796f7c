// Package telemetry sends the gateway's spans to an OpenTelemetry collector.
package telemetry
