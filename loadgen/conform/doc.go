// Package conform checks any OpenAI-compatible endpoint from outside, case by
// case: how its streams are framed and when they arrive, what becomes of clients
// that leave, whether counts add up, what errors look like, which parameters
// mean something, and what a gateway adds (limits, idempotency, isolation of
// tenants). It needs no knowledge of what is behind the endpoint, and sends
// small requests one after another, but for the few cases that say otherwise.
package conform
