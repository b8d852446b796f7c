// Package server is the engine's OpenAI-compatible HTTP interface with SSE streaming and metrics.
package server
