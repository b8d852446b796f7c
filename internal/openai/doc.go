// Package openai is the wire format shared by the load generator, the gateway
// and the engine: OpenAI's request, response and error shapes, and the
// server-sent-events codec. There is no other SSE parser in the project.
package openai
