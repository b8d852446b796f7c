package conform

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// slowCases wait for a generation of over a minute, with Options.Slow only.
var slowCases = []Case{
	{
		ID: "slow/stream", Title: "a stream of over a minute is not cut", Level: Must, Suite: Engine,
		Why: "load balancers and server frameworks end requests after 30 or 60 s by default", Issue: "maximhq/bifrost#5010",
		Sends: "a stream of as many tokens as take 65 s at the measured rate", Expect: "output until then; an end before it only with a finish_reason",
		needs: stream, slow: true, try: longStreamLives,
	},
	{
		ID: "slow/whole", Title: "an answer that takes over a minute is not cut", Level: Should, Suite: Engine,
		Why: "nothing moves on the connection meanwhile, which hops take for dead", Issue: "BerriAI/litellm#31877",
		Sends: "the same, not streamed", Expect: "200",
		needs: stream, slow: true, try: longWholeLives,
	},
}

// tokensFor is how many tokens take as long at the rate at which a first stream
// brings them.
func (p *probe) tokensFor(ctx context.Context, long time.Duration) (int, error) {
	g, err := p.generates(ctx)
	if err != nil {
		return 0, err
	}
	each := (g.last() - g.first()) / time.Duration(max(1, g.outputs()-1))
	if each <= 0 {
		return 0, skipped("the rate of the stream can not be told (buffering/spread)")
	}
	const margin = 1.2
	tokens := int(margin * float64(long) / float64(each))
	const most = 100_000
	if room := p.window - 100; p.window > 0 && tokens > room || tokens > most {
		return 0, skipped("%d tokens would take %s at %.0f tokens/s, which is more than fit", tokens, long, float64(time.Second)/float64(each))
	}
	return tokens, nil
}

func longStreamLives(ctx context.Context, p *probe) (string, error) {
	tokens, err := p.tokensFor(ctx, p.o.Long)
	if err != nil {
		return "", err
	}
	seen, early, err := p.outlives(ctx, tokens)
	if early { // the rate that was measured was too low
		seen, _, err = p.outlives(ctx, 2*tokens)
	}
	return seen, err
}

// outlives streams so many tokens for as long as Options.Long. early says that
// the model came to its own end before.
func (p *probe) outlives(ctx context.Context, tokens int) (seen string, early bool, err error) {
	begin := time.Now()
	g, err := p.generation(ctx, tokens, func(*streamed) bool { return time.Since(begin) >= p.o.Long })
	if err != nil {
		return "", false, err
	}
	seen = fmt.Sprintf("%d events with output in %.1f s", g.outputs(), g.took.Seconds())
	switch {
	case g.took >= p.o.Long:
		return seen, false, nil
	case g.finished() && g.failure() == "":
		return "", true, skipped("%s, then the model ended by itself", seen)
	case g.failure() != "":
		return "", false, wrong("cut after %s, with the error %q", seen, clip(g.failure(), 80))
	}
	return "", false, wrong("cut after %s: %v", seen, g.err)
}

func longWholeLives(ctx context.Context, p *probe) (string, error) {
	tokens, err := p.tokensFor(ctx, p.o.Long)
	if err != nil {
		return "", err
	}
	r, err := p.longRequest(ctx, tokens, false)
	if err != nil {
		return "", err
	}
	begin := time.Now()
	a, err := p.ask(ctx, r)
	took := time.Since(begin)
	switch {
	case err != nil:
		return "", wrong("cut after %.1f s: %v", took.Seconds(), err)
	case a.status != http.StatusOK:
		return "", wrong("after %.1f s it was answered %s", took.Seconds(), a.said())
	case took < p.o.Long:
		return "", skipped("the answer was complete after %.1f s", took.Seconds())
	}
	return fmt.Sprintf("answered after %.1f s", took.Seconds()), nil
}
