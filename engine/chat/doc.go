// Package chat turns conversations into prompts and answers into messages: chat
// templates as models ship them (Template), whose text cannot be forged by clients
// (Segment, Encoder); tool calls and reasoning read out of an answer's text, whole
// or piece by piece (Parser); and the JSON schema that a forced tool call must
// follow (ToolSchema).
//
// It is pure: no clock, no randomness, no goroutine.
package chat
