package conform

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

// tellable is how long a generation must take for its arrivals to say something:
// long beside what a busy machine delays a single reader by.
const tellable = 250 * time.Millisecond

// mostLooks is how often arrivals are looked at before they are found fault with,
// and convincing how many of those looks must be worth something.
const mostLooks, convincing = 3, 2

// decisive is how long a generation takes whose arrivals are worth a second look
// all the same when there is no time for one.
const decisive = 3 * time.Second

// lengths are the numbers of tokens that are asked for until a generation takes
// long enough.
var lengths = []int{128, 512, 2048, 8192}

// generation is a stream that lasted long enough to look at its times.
type generation struct {
	*streamed
	header time.Duration // when the header came
	alone  time.Duration // until the first output of one token: what is no generation
	tokens int           // asked for
	stalls stalls        // of this process, meanwhile
}

// made is how long the generation took.
func (g *generation) made() time.Duration { return g.last() - g.alone }

// spread is how much of that time lies between the first and the last output.
func (g *generation) spread() time.Duration { return g.last() - g.first() }

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

// arrivals are the generations of a run that can be looked at. Most endpoints
// need one: only what looks wrong is looked at again.
type arrivals struct {
	alone  memo[time.Duration]
	length int // index into lengths of what took long enough
	seen   []memo[*generation]
}

// generates is one generation that can be looked at, the same for all cases.
func (p *probe) generates(ctx context.Context) (*generation, error) { return p.arrival(ctx, 0) }

// arrival is one of several generations that can be looked at, each asked for
// once in a run.
func (p *probe) arrival(ctx context.Context, n int) (*generation, error) {
	a := &p.arrivals
	for len(a.seen) <= n {
		a.seen = append(a.seen, memo[*generation]{})
	}
	return a.seen[n].get(func() (*generation, error) {
		alone, err := a.alone.get(func() (time.Duration, error) { return p.firstOutput(ctx) })
		if err != nil {
			return nil, err
		}
		return p.longEnough(ctx, alone)
	})
}

// longEnough asks for more and more tokens until a generation takes long enough.
func (p *probe) longEnough(ctx context.Context, alone time.Duration) (*generation, error) {
	var short *generation
	for ; p.arrivals.length < len(lengths); p.arrivals.length++ {
		tokens := lengths[p.arrivals.length]
		if p.window > 0 && tokens > p.window/2 {
			break
		}
		g, err := p.generation(ctx, tokens, nil)
		var reason *skip
		switch {
		case errors.As(err, &reason) && short != nil:
			return nil, tooShort(short) // so many tokens are refused
		case err != nil:
			return nil, err
		case ctx.Err() != nil && g.outputs() == 0:
			return nil, skipped("%d tokens brought nothing before the time for the case was up (--case-timeout)", tokens)
		}
		if g.alone = alone; g.made() >= tellable {
			return g, nil
		}
		if ended := short != nil && g.outputs() <= short.outputs(); ended {
			return nil, tooShort(g) // the model comes to an end of its own
		}
		short = g
	}
	if short == nil {
		return nil, skipped("the window of %d tokens is too small for a generation to look at", p.window)
	}
	return nil, tooShort(short)
}

func tooShort(g *generation) error {
	return skipped("%d tokens took %d ms: too short to tell", g.tokens, max(0, g.made().Milliseconds()))
}

// firstOutput is how long a single token takes: the median of three, since the
// first may find a server cold and any of them a machine busy.
func (p *probe) firstOutput(ctx context.Context) (time.Duration, error) {
	r, err := p.longRequest(ctx, 1, true)
	if err != nil {
		return 0, err
	}
	var took []time.Duration
	for range 3 {
		s, err := p.readStream(ctx, r, func(s *streamed) bool { return s.outputs() > 0 })
		switch {
		case err != nil:
			return 0, err
		case s.outputs() == 0:
			return 0, skipped("a stream of one token has no output: %s", s.said())
		}
		took = append(took, s.took)
	}
	slices.Sort(took)
	return took[1], nil
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
	watch := startPulse()
	s, err := p.readStream(ctx, r, enough)
	stalls := watch.end()
	switch {
	case err != nil:
		return nil, err
	case s.status != http.StatusOK:
		return nil, skipped("a stream of %d tokens was answered %s", tokens, s.said())
	}
	return &generation{streamed: s, header: s.headed, tokens: tokens, stalls: stalls}, nil
}
