package conform

import (
	"context"
	"net/http"
	"sync"
	"time"
)

var connectionCases = []Case{
	{
		ID: "connection/reuse", Title: "a connection is used again", Level: Should, Suite: Engine,
		Why:   "a handshake a request costs time, ports and the server's patience",
		Sends: "the plain chat with max_tokens 1, twice", Expect: "the second over the connection of the first",
		needs: whole, try: reuses,
	},
	{
		ID: "connection/after-idle", Title: "a request after 5 s of silence is answered", Level: Must, Suite: Engine,
		Why: "a hop that keeps connections longer than the server behind it meets dead ones", Issue: "llm-d/llm-d#1564",
		Sends: "the plain chat with max_tokens 1, 5.2 s of nothing, and the same again", Expect: "200 both times",
		needs: whole, try: afterIdle,
	},
	{
		ID: "connection/parallel", Title: "streams at once do not disturb each other", Level: Must, Suite: Engine,
		Why: "state that is shared between requests mixes answers up", Issue: "envoyproxy/ai-gateway#1382",
		Sends: "eight plain streams at once", Expect: "eight complete streams, each with one id of its own",
		needs: stream, try: parallel,
	},
}

// one asks for a single token.
func (p *probe) one(ctx context.Context, key *string) (*answer, error) {
	return p.ask(ctx, request{method: http.MethodPost, path: chatPath, body: []byte(p.chat(members{"max_tokens": 1})), key: key})
}

// well expects 200 and a choice.
func well(a *answer, err error) error {
	switch {
	case err != nil:
		return err
	case a.status != http.StatusOK:
		return wrong("%s", a.said())
	case !a.get("choices.0").Exists():
		return wrong("200 without choices: %s", a.said())
	}
	return nil
}

func reuses(ctx context.Context, p *probe) (string, error) {
	if err := well(p.one(ctx, nil)); err != nil {
		return "", err
	}
	a, err := p.one(ctx, nil)
	if err := well(a, err); err != nil {
		return "", err
	}
	if !a.reused {
		return "", wrong("the second request needed a new connection")
	}
	return "used again", nil
}

func afterIdle(ctx context.Context, p *probe) (string, error) {
	if err := well(p.one(ctx, nil)); err != nil {
		return "", err
	}
	if err := pause(ctx, p.o.Idle); err != nil {
		return "", err
	}
	a, err := p.one(ctx, nil)
	if err := well(a, err); err != nil {
		return "", wrong("after %.1f s: %v", p.o.Idle.Seconds(), err)
	}
	if a.reused {
		return "200, over the same connection", nil
	}
	return "200, over a new connection", nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// atOnce is how many streams run at once.
const atOnce = 8

func parallel(ctx context.Context, p *probe) (string, error) {
	var (
		wg      sync.WaitGroup
		streams [atOnce]*streamed
		errs    [atOnce]error
	)
	body := p.chat(members{"stream": true})
	for i := range atOnce {
		wg.Go(func() { streams[i], errs[i] = p.streamed(ctx, body) })
	}
	wg.Wait()
	ids := map[string]bool{}
	for i, s := range streams {
		if errs[i] != nil {
			return "", errs[i]
		}
		if s.status != http.StatusOK {
			return "", wrong("one was answered %s", s.said())
		}
		id := ""
		for e := range s.chunks {
			switch other := e.get("id").String(); {
			case id == "":
				id = other
			case id != other:
				return "", wrong("a stream has chunks of %s and %s", id, other)
			}
		}
		if !s.isDone() || s.err != nil {
			return "", wrong("a stream did not come to its end: %v", s.err)
		}
		if ids[id] {
			return "", wrong("two streams have id %s", id)
		}
		ids[id] = true
	}
	return sprintf("%d streams", len(ids)), nil
}
