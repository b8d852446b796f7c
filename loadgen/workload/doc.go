// Package workload is streams of requests: arrivals, lengths, shared prefixes; pure functions of a seed.
package workload
