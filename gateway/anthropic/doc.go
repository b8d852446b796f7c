// Package anthropic translates between OpenAI's chat completions and
// Anthropic's Messages API, so that a vendor with a shape of its own stands
// behind the same API as every engine. It opens no connection: Request makes the
// body to send, Translate turns the answer, whole, streamed or an error, into
// what OpenAI's API would have said.
//
// The shapes are those of Anthropic's public reference (Messages, Streaming
// messages, Errors), version 2023-06-01. What happens to each field of a request
// is listed in docs/gateway.md: a field that would change the shape or the
// meaning of the answer and has no counterpart is refused, a hint is left out.
package anthropic
