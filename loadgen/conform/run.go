package conform

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrUnreachable says that nothing at the endpoint answered.
var ErrUnreachable = errors.New("endpoint is unreachable")

// Run tries the cases one after another. It returns an error, and no report,
// when nothing answers (ErrUnreachable) or the options make no sense. When ctx ends, what is left is skipped and said to be
// interrupted.
func Run(ctx context.Context, o Options) (*Report, error) {
	o.complete()
	cases, err := Select(o.Suite, o.Pick)
	if err != nil {
		return nil, err
	}
	p, err := newProbe(o)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if err := p.discover(ctx); err != nil {
		return nil, err
	}
	begin := time.Now()
	all, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	report := &Report{Schema: Schema, Endpoint: p.public, Model: p.model, Suite: o.Suite, Server: p.server}
	for i := range cases {
		if o.OnCase != nil {
			o.OnCase(i, len(cases), cases[i].ID)
		}
		report.add(p.result(ctx, all, &cases[i]))
	}
	report.Interrupted = ctx.Err() != nil
	report.Requests = p.sent.Load()
	report.Seconds = time.Since(begin).Seconds()
	return report, nil
}

// result tries one case. user ends when the user stops, all when the time of all
// cases is up, too.
func (p *probe) result(user, all context.Context, c *Case) Result {
	r := Result{
		ID: c.ID, Title: c.Title, Why: c.Why, Issue: c.Issue, Level: c.Level, Suite: c.Suite,
		Sent: c.Sends, Expected: c.Expect,
	}
	begin := time.Now()
	limit := p.o.CaseTimeout
	if c.slow {
		limit += 3 * p.o.Long // as long as the generations that it asks for, and their measuring
	}
	ctx, cancel := context.WithTimeout(all, limit)
	defer cancel()
	seen, err := p.attempt(ctx, c)
	r.Seconds = time.Since(begin).Seconds()
	reason, skipping := isSkip(err)
	switch {
	case user.Err() != nil:
		r.Verdict, r.Reason = Skip, "interrupted"
	case skipping:
		r.Verdict, r.Reason = Skip, reason
	case err != nil && all.Err() != nil:
		r.Verdict, r.Reason = Skip, fmt.Sprintf("the time for all cases, %s, is up", p.o.Timeout)
	case err != nil:
		r.Verdict, r.Seen = Fail, err.Error()
	default:
		r.Verdict, r.Seen = Pass, seen
	}
	r.Seen, r.Reason = clip(p.redact(r.Seen), 400), clip(p.redact(r.Reason), 400)
	return r
}

func (p *probe) attempt(ctx context.Context, c *Case) (seen string, err error) {
	if c.slow && !p.o.Slow {
		return "", skipped("it takes over a minute; --slow runs it")
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	switch c.needs {
	case whole:
		err = p.answersWhole(ctx)
	case stream:
		err = p.answersStreams(ctx)
	}
	if err != nil {
		return "", err
	}
	return c.try(ctx, p)
}
