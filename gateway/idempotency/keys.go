package idempotency

import (
	"context"
	"errors"
	"time"
)

// Keys is where keys and answers are kept. It is safe for concurrent use.
type Keys interface {
	// Claim takes a key for a request. When the same request was answered before,
	// it returns that answer, and else a claim that is to be ended. The error is
	// ErrInProgress, ErrConflict, ErrUnavailable, or that of ctx.
	Claim(ctx context.Context, id ID, request Fingerprint) (*Answer, Claim, error)
	// Close ends what claims hold.
	Close()
}

// Claim is a key that is taken. Whoever holds it ends it with Keep or Release; the
// first of them counts.
type Claim interface {
	// Keep keeps the answer for a time.
	Keep(a Answer, ttl time.Duration)
	// Release gives the key up, for a request without an answer worth keeping.
	Release()
}

// Answer is a complete answer, of status 200, that a client was sent.
type Answer struct {
	Header map[string]string // content type and the like; none that is about the connection
	Body   []byte

	// What the request used, for the books of those who ask again.
	Deployment            string
	Input, Cached, Output int64 // tokens
}

// Errors of Claim.
var (
	ErrInProgress  = errors.New("a request with this idempotency key is in progress")
	ErrConflict    = errors.New("this idempotency key was used for another request")
	ErrUnavailable = errors.New("the store of idempotency keys cannot be reached")
)
