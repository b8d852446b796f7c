// Package gateway is the reference gateway: tenants, limits, routing, proxying and metering in front of any engine.
package gateway
