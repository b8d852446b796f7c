package conform

import (
	"context"
	"net/http"
	"time"
)

var bufferingCases = []Case{
	{
		ID: "buffering/spread", Title: "output arrives while it is made", Level: Must, Suite: Engine,
		Why:    "a hop that buffers turns a stream into one late answer",
		Sends:  "a stream of 1 token, then streams of 128, 512 and 2,048 until one takes 100 ms longer",
		Expect: "first and last output at least half of that time apart",
		needs:  stream, try: arrivesSpread,
	},
	{
		ID: "buffering/lumps", Title: "output does not arrive in lumps", Level: Should, Suite: Engine,
		Why: "a hop with a buffer of some kilobytes lets a stream stutter", Issue: "envoyproxy/ai-gateway#1927",
		Sends:  "the same streams",
		Expect: "most events with output come in reads of fewer than four of them",
		needs:  stream, try: arrivesEvenly,
	},
	{
		ID: "buffering/header", Title: "the header does not wait for the end", Level: Must, Suite: Engine,
		Why:    "clients time out while they wait for a status that is long known",
		Sends:  "the same streams",
		Expect: "the header in the first half of the time",
		needs:  stream, try: headerFirst,
	},
}

// tellable is how long a generation must take for its arrivals to say something.
const tellable = 100 * time.Millisecond

// generation is a stream that lasted long enough to look at its times.
type generation struct {
	*streamed
	header time.Duration // when the header came
	alone  time.Duration // until the first output of one token: what is no generation
	tokens int           // asked for
}

// made is how long the generation took.
func (g *generation) made() time.Duration { return g.last() - g.alone }

func (g *generation) first() time.Duration {
	for i := range g.events {
		if g.events[i].output {
			return g.events[i].at
		}
	}
	return 0
}

func (g *generation) last() (at time.Duration) {
	for i := range g.events {
		if g.events[i].output {
			at = g.events[i].at
		}
	}
	return at
}

// generates is a stream of a generation that can be looked at, asked for once.
func (p *probe) generates(ctx context.Context) (*generation, error) {
	return p.longStream.get(func() (*generation, error) {
		alone, err := p.firstOutput(ctx)
		if err != nil {
			return nil, err
		}
		var g *generation
		for _, tokens := range []int{128, 512, 2048} {
			if p.window > 0 && tokens > p.window/2 {
				break
			}
			if g, err = p.generation(ctx, tokens, nil); err != nil {
				return nil, err
			}
			g.alone = alone
			if g.made() >= tellable {
				return g, nil
			}
		}
		if g == nil {
			return nil, skipped("the window of %d tokens is too small for a generation to look at", p.window)
		}
		return nil, skipped("%d tokens took %d ms: too short to tell", g.tokens, g.made().Milliseconds())
	})
}

// firstOutput is how long a single token takes.
func (p *probe) firstOutput(ctx context.Context) (time.Duration, error) {
	r, err := p.longRequest(ctx, 1, true)
	if err != nil {
		return 0, err
	}
	s, err := p.readStream(ctx, r, func(s *streamed) bool { return s.outputs() > 0 })
	switch {
	case err != nil:
		return 0, err
	case s.outputs() == 0:
		return 0, skipped("a stream of one token has no output: %s", s.said())
	}
	return s.took, nil
}

// longRequest asks for so many tokens, without an early end where the server can
// be told so.
func (p *probe) longRequest(ctx context.Context, tokens int, streaming bool) (request, error) {
	extends, err := p.extends(ctx)
	if err != nil {
		return request{}, err
	}

	changes := members{"stream": streaming, "max_tokens": tokens, "messages": user("Count from one to a thousand in words, separated by spaces. Do not stop early.")}
	if extends {
		changes["ignore_eos"] = true
	}
	return request{method: http.MethodPost, path: chatPath, body: []byte(p.chat(changes))}, nil
}

// generation streams so many tokens.
func (p *probe) generation(ctx context.Context, tokens int, enough func(*streamed) bool) (*generation, error) {
	r, err := p.longRequest(ctx, tokens, true)
	if err != nil {
		return nil, err
	}
	s, err := p.readStream(ctx, r, enough)
	switch {
	case err != nil:
		return nil, err
	case s.status != http.StatusOK:
		return nil, skipped("a stream of %d tokens was answered %s", tokens, s.said())
	}
	return &generation{streamed: s, header: s.headed, tokens: tokens}, nil
}

func arrivesSpread(ctx context.Context, p *probe) (string, error) {
	g, err := p.generates(ctx)
	if err != nil {
		return "", err
	}
	apart, made := g.last()-g.first(), g.made()
	seen := sprintf("%d events with output in %d ms of %d ms", g.outputs(), apart.Milliseconds(), made.Milliseconds())
	if apart < made/2 {
		return "", wrong("%s: something on the way buffers", seen)
	}
	return seen, nil
}

func arrivesEvenly(ctx context.Context, p *probe) (string, error) {
	g, err := p.generates(ctx)
	if err != nil {
		return "", err
	}
	if g.last()-g.first() < g.made()/2 {
		return "", skipped("all of it is one lump (buffering/spread)")
	}
	lumped, largest, current := 0, 0, 0
	var at time.Duration
	count := func() {
		largest = max(largest, current)
		if current >= 4 {
			lumped += current
		}
	}
	for i := range g.events {
		switch e := &g.events[i]; {
		case !e.output:
		case e.at == at:
			current++
		default:
			count()
			at, current = e.at, 1
		}
	}
	count()
	seen := sprintf("%d of %d events with output in lumps of four and more, at most %d at once", lumped, g.outputs(), largest)
	const tooFast = 5 * time.Millisecond // at which a busy client reads several at once
	switch {
	case lumped*2 <= g.outputs():
		return seen, nil
	case (g.last()-g.first())/time.Duration(max(g.outputs(), 1)) < tooFast:
		return "", skipped("%s: they come faster than a client can tell", seen)
	}
	return "", wrong("%s", seen)
}

func headerFirst(ctx context.Context, p *probe) (string, error) {
	g, err := p.generates(ctx)
	if err != nil {
		return "", err
	}
	seen := sprintf("after %d ms of %d ms", g.header.Milliseconds(), g.last().Milliseconds())
	if g.header-g.alone > g.made()/2 {
		return "", wrong("%s", seen)
	}
	return seen, nil
}
