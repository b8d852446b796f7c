package conform

import (
	"context"
	"net/http/httptrace"
	"time"
)

// leaving is how many clients leave in each of the cancel cases.
const leaving = 4

var cancelCases = []Case{
	{
		ID: "cancel/before-output", Title: "clients that leave before the first token leave nothing behind", Level: Must, Suite: Engine,
		Why: "work for nobody holds the places of others", Issue: "BerriAI/litellm#31499",
		Sends: "four long streams, each left 20 ms after it was sent", Expect: "the next request is answered within 5 s",
		needs: whole, try: responsive(leaveEarly),
	},
	{
		ID: "cancel/mid-stream", Title: "clients that leave in the middle of a stream leave nothing behind", Level: Must, Suite: Engine,
		Why: "work for nobody holds the places of others", Issue: "BerriAI/litellm#30245",
		Sends: "four long streams, each left after its third event with output", Expect: "the next request is answered within 5 s",
		needs: stream, try: responsive(leaveMidStream),
	},
	{
		ID: "cancel/whole", Title: "clients that leave while a whole answer is made leave nothing behind", Level: Must, Suite: Engine,
		Why: "nothing is written that could fail, so servers do not notice", Issue: "BerriAI/litellm#37140",
		Sends: "four long chats that are not streamed, each left after 50 ms", Expect: "the next request is answered within 5 s",
		needs: whole, try: responsive(leaveWhole),
	},
	{
		ID: "cancel/freed-before-output", Title: "the engine forgets clients that leave before the first token", Level: Should, Suite: Engine,
		Why: "they hold its batch and its cache", Issue: "BerriAI/litellm#31499",
		Sends: "as in cancel/before-output, then the metrics page", Expect: expectFreed,
		needs: whole, try: freed(leaveEarly),
	},
	{
		ID: "cancel/freed-mid-stream", Title: "the engine forgets clients that leave in the middle of a stream", Level: Should, Suite: Engine,
		Why: "they hold its batch and its cache", Issue: "BerriAI/litellm#30245",
		Sends: "as in cancel/mid-stream, then the metrics page", Expect: expectFreed,
		needs: stream, try: freed(leaveMidStream),
	},
	{
		ID: "cancel/freed-whole", Title: "the engine forgets clients that leave while a whole answer is made", Level: Should, Suite: Engine,
		Why: "they hold its batch and its cache", Issue: "BerriAI/litellm#37140",
		Sends: "as in cancel/whole, then the metrics page", Expect: expectFreed,
		needs: whole, try: freed(leaveWhole),
	},
	{
		ID: "cancel/hundred", Title: "a hundred clients that leave leave no place taken", Level: Must, Suite: Gateway,
		Why: "a place that leaks with each of them is missing for good", Issue: "BerriAI/litellm#27955",
		Sends: "100 long streams, four at once, each left 20 ms after it was sent; then eight plain streams at once", Expect: "the eight are answered",
		needs: stream, try: hundred,
	},
}

// longTokens is how long an answer is that a client leaves.
const longTokens = 1024

// leave sends a long chat and leaves it: when enough says so, or some time after it
// was sent.
func (p *probe) leave(ctx context.Context, streaming bool, after time.Duration, enough func(*streamed) bool) error {
	r, err := p.longRequest(ctx, p.fits(longTokens), streaming)
	if err != nil {
		return err
	}
	if after > 0 {
		left, leave := context.WithCancel(ctx)
		defer leave()
		timer := time.AfterFunc(time.Hour, leave)
		defer timer.Stop()
		// A busy machine may need longer than that to connect.
		ctx = httptrace.WithClientTrace(left, &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { timer.Reset(after) }})
	}
	// That the answer does not come to its end is what is wanted.
	_, _ = p.readStream(ctx, r, enough)
	return nil
}

// fits is a number of tokens that the window has room for.
func (p *probe) fits(tokens int) int {
	if p.window > 0 {
		return max(1, min(tokens, p.window/2))
	}
	return tokens
}

func leaveEarly(ctx context.Context, p *probe) error {
	return p.leave(ctx, true, 20*time.Millisecond, func(s *streamed) bool { return s.outputs() > 0 })
}

func leaveMidStream(ctx context.Context, p *probe) error {
	return p.leave(ctx, true, 0, func(s *streamed) bool { return s.outputs() >= 3 })
}

func leaveWhole(ctx context.Context, p *probe) error {
	return p.leave(ctx, false, 50*time.Millisecond, nil)
}

// several makes clients leave at once, and waits until they have.
func several(ctx context.Context, p *probe, n int, leave func(context.Context, *probe) error) error {
	if _, err := p.extends(ctx); err != nil { // asked once, before they run at once
		return err
	}
	errs := make(chan error, n)
	for range n {
		go func() { errs <- leave(ctx, p) }()
	}
	var first error
	for range n {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

// responsive makes a try that lets clients leave, and then asks for a token.
func responsive(leave func(context.Context, *probe) error) try {
	return func(ctx context.Context, p *probe) (string, error) {
		if err := several(ctx, p, leaving, leave); err != nil {
			return "", err
		}
		limited, cancel := context.WithTimeout(ctx, p.o.Settle)
		defer cancel()
		a, err := p.one(limited, nil)
		if err := well(a, err); err != nil {
			return "", wrong("after they had left: %v", err)
		}
		return sprintf("answered after %d ms", a.took.Milliseconds()), nil
	}
}

func hundred(ctx context.Context, p *probe) (string, error) {
	for range 100 / leaving {
		if err := several(ctx, p, leaving, leaveEarly); err != nil {
			return "", err
		}
	}
	if _, err := parallel(ctx, p); err != nil {
		return "", wrong("after they had left: %v", err)
	}
	return "all eight", nil
}

// tolerance is how much later than it should an engine may be seen to be idle:
// its gauges change with its steps, and the page is read again and again.
const (
	freedWithin = 100 * time.Millisecond
	tolerance   = 150 * time.Millisecond
	expectFreed = "running and waiting at 0 and KV usage as before 100 ms after the last has left (150 ms tolerance for reading the page)"
)

// freed makes a try that lets clients leave, and then watches the engine.
func freed(leave func(context.Context, *probe) error) try {
	return func(ctx context.Context, p *probe) (string, error) {
		if p.o.Metrics == "" {
			return "", skipped("no metrics page (--metrics)")
		}
		before, err := p.calm(ctx)
		if err != nil {
			return "", err
		}
		if err := several(ctx, p, leaving, leave); err != nil {
			return "", err
		}
		since, err := p.idleAgain(ctx, before, time.Now())
		switch {
		case err != nil:
			return "", err
		case since > freedWithin+tolerance:
			return "", wrong("only after %d ms", since.Milliseconds())
		}
		return sprintf("idle %d ms after", since.Milliseconds()), nil
	}
}

// calm waits until the engine does nothing, since cases before may have left it
// work, for as long as Options.Settle.
func (p *probe) calm(ctx context.Context) (load, error) {
	for begin := time.Now(); ; {
		now, err := p.load(ctx)
		switch {
		case err != nil:
			return load{}, skipped("%v", err)
		case !now.busy():
			return now, nil
		case time.Since(begin) > p.o.Settle:
			return load{}, skipped("the engine has other work, or work that clients left to it: %s", now)
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return load{}, err
		}
	}
}

// idleAgain waits until the engine does as little as before, for as long as
// Options.Settle since the last client left.
func (p *probe) idleAgain(ctx context.Context, before load, left time.Time) (time.Duration, error) {
	for {
		now, err := p.load(ctx)
		if err != nil {
			return 0, err
		}
		since := time.Since(left)
		if !now.busy() && now.kv <= before.kv+kvNoise {
			return since, nil
		}
		if since > p.o.Settle {
			return 0, wrong("after %.1f s: %s", since.Seconds(), now)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return 0, err
		}
	}
}
