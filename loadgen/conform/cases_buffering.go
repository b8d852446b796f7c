package conform

import (
	"context"
	"errors"
	"time"
)

var bufferingCases = []Case{
	{
		ID: "buffering/spread", Title: "output arrives while it is made", Level: Must, Suite: Engine,
		Why:    "a hop that buffers turns a stream into one late answer",
		Sends:  "streams of 1 token, then of 128, 512, 2,048 and 8,192 until one takes 250 ms longer, up to three times",
		Expect: "first and last output at least half of that time apart, once",
		needs:  stream, try: arriving(spread),
	},
	{
		ID: "buffering/lumps", Title: "output does not arrive in lumps", Level: Should, Suite: Engine,
		Why: "a hop with a buffer of some kilobytes lets a stream stutter", Issue: "envoyproxy/ai-gateway#1927",
		Sends:  "the same streams",
		Expect: "most events with output come in reads of fewer than four of them, once",
		needs:  stream, try: arriving(even),
	},
	{
		ID: "buffering/header", Title: "the header does not wait for the end", Level: Must, Suite: Engine,
		Why:    "clients time out while they wait for a status that is long known",
		Sends:  "the same streams",
		Expect: "the header in the first half of the time, once",
		needs:  stream, try: arriving(headerFirst),
	},
}

// look judges when the parts of a generation arrived. late is for how long this
// process would have to have stood still, at once or in all, for what is wrong to
// be its own fault.
type look func(*generation) (seen string, late time.Duration, err error)

// arriving makes a try of a look. What buffers does so every time, and what a busy
// machine delays comes in time at least once: one look at which all is right
// decides, and several at which it is not, not counting those during which this
// process itself stood still.
func arriving(at look) try {
	return func(ctx context.Context, p *probe) (string, error) {
		var own, worth int
		var fault error
		for n := range mostLooks {
			g, err := p.arrival(ctx, n)
			if err != nil {
				return "", inconclusive(fault, err)
			}
			seen, late, err := at(g)
			if err == nil {
				return seen, nil
			}
			if _, skipping := isSkip(err); skipping {
				return "", err
			}
			if late > 0 {
				own++
			} else {
				worth++
				fault = err
			}
			if worth > 0 && g.took >= decisive && !leaves(ctx, g.took) {
				return "", fault
			}
			if own > mostLooks-convincing {
				return "", skipped("%v; this machine stood still for %d ms meanwhile, which may be why", err, late.Milliseconds())
			}
		}
		return "", wrong("%v, as the other times", fault)
	}
}

// inconclusive is why there is nothing to look at, or why it could not be looked at
// again. That the time for a case is up is no fault of the way that streams take.
func inconclusive(fault, err error) error {
	reason, skipping := isSkip(err)
	switch {
	case fault != nil && skipping:
		return skipped("%v; looking again: %s", fault, reason)
	case fault != nil:
		return skipped("%v; looking again: %v", fault, err)
	case errors.Is(err, context.DeadlineExceeded):
		return skipped("the time for the case was up (--case-timeout): %v", err)
	}
	return err
}

// leaves reports whether ctx leaves time for something that takes so long.
func leaves(ctx context.Context, took time.Duration) bool {
	end, bounded := ctx.Deadline()
	return !bounded || time.Until(end) > took+took/4
}

// spread expects the first and the last output to lie apart.
func spread(g *generation) (seen string, late time.Duration, err error) {
	apart, made := g.spread(), g.made()
	seen = sprintf("%d events with output in %d ms of %d ms", g.outputs(), apart.Milliseconds(), made.Milliseconds())
	if apart < made/2 {
		return "", g.stalled(made / 4), wrong("%s: something on the way buffers", seen)
	}
	return seen, 0, nil
}

// stalled is the longest stall when it is so long, else 0.
func (g *generation) stalled(enough time.Duration) time.Duration {
	if longest := g.stalls.longest(); longest >= enough {
		return longest
	}
	return 0
}

// headerFirst expects the header well before the last output.
func headerFirst(g *generation) (seen string, late time.Duration, err error) {
	seen = sprintf("after %d ms of %d ms", g.header.Milliseconds(), g.last().Milliseconds())
	if g.header-g.alone > g.made()/2 {
		return "", g.stalled(g.made() / 4), wrong("%s", seen)
	}
	return seen, 0, nil
}

// lumpFrom is how many events in one read are a lump.
const lumpFrom = 4

// even expects events with output to be read as they come.
func even(g *generation) (seen string, late time.Duration, err error) {
	if g.spread() < g.made()/2 {
		return "", 0, skipped("all of it is one lump (buffering/spread)")
	}
	lumped, largest := g.lumps()
	seen = sprintf("%d of %d events with output in lumps of four and more, at most %d at once", lumped, g.outputs(), largest)
	const tooFast = 5 * time.Millisecond // at which a busy client reads several at once
	pace := g.spread() / time.Duration(max(g.outputs(), 1))
	switch {
	case lumped*2 <= g.outputs():
		return seen, 0, nil
	case pace < tooFast:
		return "", 0, skipped("%s: they come faster than a client can tell", seen)
	}
	if own := g.stalls.sum((lumpFrom - 1) * pace); own >= g.spread()/4 {
		late = own
	}
	return "", late, wrong("%s", seen)
}

// lumps counts the events with output that were read four and more at once.
func (g *generation) lumps() (lumped, largest int) {
	current := 0
	var at time.Duration
	count := func() {
		largest = max(largest, current)
		if current >= lumpFrom {
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
	return lumped, largest
}
