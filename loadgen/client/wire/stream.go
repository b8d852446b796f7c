package wire

import "time"

// Stream is who waits for the answer to one request.
type Stream interface {
	// Wrote says that the last byte of the request has been written. It may be
	// called while Push runs, and not at all when the answer came first.
	Wrote(now time.Duration)
	// Push hands over what one read returned, and when. p is valid until Push
	// returns. Calls do not overlap, and none follows a verdict other than More.
	Push(p []byte, now time.Duration) Verdict
}

// Verdict is what a stream says of its connection.
type Verdict int

const (
	More  Verdict = iota // the answer is not complete
	Reuse                // it is, and the connection may carry another request
	Close                // it is, or nobody wants the rest
)
