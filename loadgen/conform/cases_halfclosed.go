package conform

import (
	"context"
	"net/http"
	"time"
)

// halfClosedCases are about clients that close their sending half once a request
// is sent. RFC 9112 (9.6) says that this does not mean that they want no answer.
// A server can not tell them from clients that left, though, before it writes to
// them: one that frees the engine as soon as a client leaves gives them up, as Go's
// net/http does (golang/go#18527). Both are taken, as long as the client can tell.
var halfClosedCases = []Case{
	{
		ID: "connection/half-closed", Title: "a client that half-closes is answered, or can tell that it was not", Level: Should, Suite: Engine,
		Why: "RFC 9112 (9.6): a half-closed connection does not imply that no answer is wanted; servers that take it for a client that left must not call what they send a success", Issue: "golang/go#18527",
		Sends:  "the plain chat on a connection whose sending half is closed after it; then the plain chat with max_tokens 1, and the metrics page",
		Expect: "the answer, which is right; or an error, or the end of the connection, and no work left behind: never 200 without an answer, nor silence",
		needs:  whole, try: halfCloses,
	},
}

func halfCloses(ctx context.Context, p *probe) (string, error) {
	before, watched := p.idleBefore(ctx)
	limited, cancel := context.WithTimeout(ctx, p.o.CaseTimeout*2/3)
	defer cancel()
	a, closed, err := p.halfClosed(limited, chatPath, p.chat(nil))
	left := time.Now()
	var seen string
	switch {
	case err == nil && !closed:
		return "", skipped("the connection could not be half-closed")
	case limited.Err() != nil:
		return "", wrong("neither an answer nor an end: %v", err)
	case err != nil:
		seen = "the connection ended without an answer"
	case a.status == http.StatusOK:
		if err := well(a, nil); err != nil {
			return "", err
		}
		seen = "answered"
	default:
		seen = sprintf("taken for a client that left: %s", a.said())
	}
	if err := well(p.one(ctx, nil)); err != nil {
		return "", wrong("%s; the next request: %v", seen, err)
	}
	if !watched {
		return seen, nil
	}
	if _, err := p.idleAgain(ctx, before, left); err != nil {
		return "", wrong("%s; the engine: %v", seen, err)
	}
	return seen + ", and nothing left behind", nil
}

// idleBefore reads what the engine does; ok is false where that can not be known,
// or where it has other work.
func (p *probe) idleBefore(ctx context.Context) (before load, ok bool) {
	if p.o.Metrics == "" {
		return load{}, false
	}
	before, err := p.calm(ctx)
	return before, err == nil
}
