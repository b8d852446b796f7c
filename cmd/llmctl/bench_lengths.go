package main

import (
	"context"
	"fmt"
	"math"

	"github.com/llmctl/llmctl/loadgen/request"
	"github.com/llmctl/llmctl/loadgen/workload"
)

// sampled is how many sessions are looked at to see what prompts consist of.
const sampled = 64

// lengthDrift is the difference between tokens asked for and counted above
// which a run is warned before it begins, as a share.
const lengthDrift = 0.02

// prompts are what the requests of a run say, under a salt of its own.
func (b *bench) prompts(salt string) request.Prompts {
	p := b.flags.prompts.parsed
	p.Seed, p.Salt, p.Lengths = b.flags.seed, salt, b.lengths
	return p
}

// calibrate finds out how long prompts are at the target. An interrupt ends it,
// and the bench; where lengths can not be known, the run goes on and says so.
func (b *bench) calibrate(ctx context.Context, stop *stopper, t target) error {
	if b.flags.prompts.calibrate == calibrateOff {
		return nil
	}
	stream, err := b.stream(false, workShare{})
	if err != nil {
		return usage(err)
	}
	ctx, release := stop.cancels(ctx)
	defer release()
	c := request.Calibration{
		Client: b.clientOptions(t), Model: t.model, Prompts: b.prompts(b.id), Sessions: firstSessions(stream),
	}
	if vocabulary := b.flags.prompts.vocabulary; vocabulary != nil {
		c.Tokenizer = vocabulary
	}
	b.lengths, err = request.Calibrate(ctx, c)
	if err != nil && (stop.used() || ctx.Err() != nil) {
		return errInterrupted
	}
	b.sayLengths(err)
	return nil
}

func firstSessions(stream *workload.Stream) []workload.Session {
	n := int64(sampled)
	if all, finite := stream.Len(); finite {
		n = min(n, all)
	}
	sessions := make([]workload.Session, n)
	for i := range sessions {
		sessions[i] = stream.Session(int64(i))
	}
	return sessions
}

// sayLengths warns of lengths that are not what the workload asks for.
func (b *bench) sayLengths(unknown error) {
	l := &b.lengths
	if unknown != nil {
		b.warn("not_calibrated", "prompts may be longer or shorter than asked for, %s: %v", l, unknown)
		return
	}
	if l.Refuted != "" {
		b.warn("tokenizer_refuted", "%s counts other tokens than the server's usage, so lengths go by usage", l.Refuted)
	}
	if off, ok := l.Off(); ok && math.Abs(off) > lengthDrift {
		asked, _ := l.Checked.Value()
		got, _ := l.Counted.Value()
		b.warn("length_off", "the server counts %d tokens in a prompt that was to have %d, %s", got, asked, l)
	}
	if !b.flags.quiet && l.Source != "" && b.flags.ui != "none" {
		fmt.Fprintln(b.io.Err, "prompts", l)
	}
}
