// Package servermetrics reads the Prometheus page of an inference server and
// says in engine-neutral terms what it tells: requests running and waiting, use
// of the KV cache, preemptions, prefix-cache hits, tokens. What a server does
// not export is NaN, never 0.
package servermetrics
