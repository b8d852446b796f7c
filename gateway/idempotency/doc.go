// Package idempotency keeps the answers of requests that carried an
// Idempotency-Key, so that a client which did not hear one can ask again without
// paying again. Keys belong to their tenant; each stands for one request, known by
// its fingerprint.
package idempotency
