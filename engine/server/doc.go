// Package server is the engine's OpenAI-compatible HTTP interface with SSE
// streaming and metrics. It speaks vLLM's dialect: the same paths, parameters,
// error texts and metric names, so that clients and dashboards made for vLLM
// work. Parameters that would change the answer and are not implemented are
// refused, not ignored.
package server
