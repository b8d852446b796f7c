// Package anthropictest is an upstream for tests that speaks Anthropic's Messages
// API. It answers from a script, and refuses what the real one refuses: fields it
// does not know, a missing max_tokens, two turns of one role, results of tools
// that nobody called.
package anthropictest
