// Package servermetrics reads the metrics page of an inference server and says
// in engine-neutral terms what it tells: requests running and waiting, use of
// the KV cache, preemptions, prefix-cache hits, tokens, speculative decoding,
// and the server's own histograms of times. What a server does not export is
// NaN or nil, never 0. The names of each engine stand in one table (names.go),
// which docs/telemetry.md shows to users.
package servermetrics
