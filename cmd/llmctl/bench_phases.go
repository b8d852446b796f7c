package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
)

// phasesFlags are the flags of bench about the course of a run: repeats, shards,
// rules that end it.
type phasesFlags struct {
	repeat         int
	shardText      string
	startText      string
	failuresText   string
	abortSaturated time.Duration

	shard         workShare
	startAt       time.Time // zero: at once
	abortFailures float64   // share of failed requests that breaks a run off
	durationGiven bool      // by someone, rather than by default
}

// workShare is shard i of n, i from 0; n is 0 when one machine sends everything.
type workShare struct{ i, n int }

func (f *phasesFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.IntVar(&f.repeat, "repeat", 1, "measure this many times, each with prompts of its own; --save keeps them in DIR/1, DIR/2, …")
	flags.StringVar(&f.shardText, "shard", "", "send the i-th of n parts of the load, e.g. 2/4; the others are sent by other machines")
	flags.StringVar(&f.startText, "start-at", "", "wall clock at which to start, like 2006-01-02T15:04:05Z or +30s, so that shards start together")
	flags.StringVar(&f.failuresText, "abort-failures", "50%", "break off when more than this share of the last hundred requests failed; 100% is never")
	flags.DurationVar(&f.abortSaturated, "abort-saturated", 0, "break an open loop off when requests in flight and ttft grew steadily over this time, e.g. 30s (default: never)")
}

// check refuses what contradicts itself.
func (f *phasesFlags) check(cmd *cobra.Command) (err error) {
	if f.repeat < 1 || f.repeat > maxRepeats {
		return fmt.Errorf("--repeat %d: expected 1 to %d", f.repeat, maxRepeats)
	}
	if f.shard, err = parseShard(f.shardText); err != nil {
		return err
	}
	if f.startAt, err = parseStart(f.startText, time.Now()); err != nil {
		return err
	}
	if f.abortFailures, err = parseShare("--abort-failures", f.failuresText); err != nil {
		return err
	}
	switch {
	case f.shard.n > 1 && strings.HasPrefix(f.startText, "+"):
		return fmt.Errorf("--start-at %s is another time on each machine, and shards need one: give all of them the same, such as %s", f.startText, f.startAt.UTC().Format(time.RFC3339))
	case f.abortFailures < 0:
		return fmt.Errorf("--abort-failures %s would break off a run at the first failure of a hundred; --max-failures 0 judges so, and measures", f.failuresText)
	case f.abortSaturated < 0 || f.abortSaturated > 0 && f.abortSaturated < 5*time.Second:
		return fmt.Errorf("--abort-saturated %s: expected at least 5s, in which a trend can be seen, or 0s for never", f.abortSaturated)
	case f.repeat > 1 && !f.startAt.IsZero():
		return errors.New("--repeat and --start-at: only the first of several runs could start then; give one of them")
	}
	f.durationGiven = cmd.Flags().Changed("duration")
	return nil
}

// parseShard reads 2/4, the second of four parts.
func parseShard(s string) (workShare, error) {
	if s == "" {
		return workShare{}, nil
	}
	first, second, ok := strings.Cut(s, "/")
	i, err := strconv.Atoi(first)
	n, err2 := strconv.Atoi(second)
	if !ok || err != nil || err2 != nil || i < 1 || i > n || n > 1<<16 {
		return workShare{}, fmt.Errorf("--shard %q: expected one like 2/4, the second of four", s)
	}
	return workShare{i - 1, n}, nil
}

// parseStart reads a wall clock, or a time from now on.
func parseStart(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	var at time.Time
	if wait, relative := strings.CutPrefix(s, "+"); relative {
		d, err := time.ParseDuration(wait)
		if err != nil {
			return at, fmt.Errorf("--start-at %q: expected a time from now like +30s", s)
		}
		at = now.Add(d)
	} else {
		var err error
		if at, err = time.Parse(time.RFC3339, s); err != nil {
			return at, fmt.Errorf("--start-at %q: expected a time like %s, or one from now on like +30s", s, now.Add(time.Minute).UTC().Format(time.RFC3339))
		}
	}
	if !at.After(now) {
		return at, fmt.Errorf("--start-at %s has passed: it is %s", s, now.UTC().Format(time.RFC3339))
	}
	return at, nil
}

// share is how many of a number of requests this shard sends. The shares of all
// shards add up to it. In an open loop they are the same requests that one machine
// would have sent: the rest after a division goes to the shards whose sessions are
// due first once the warm-up is over.
func (s workShare) share(requests int, whole *workload.Stream, warmup time.Duration) int {
	if s.n == 0 {
		return requests
	}
	first := 0
	if !whole.Workload().Arrival.ClosedLoop() {
		for whole.Offset(int64(first)) < warmup {
			first++
		}
	}
	share := requests / s.n
	if rank := ((s.i-first)%s.n + s.n) % s.n; rank < requests%s.n {
		share++
	}
	return share
}

// lasts is the length of the measurement in time, 0 when something else bounds it:
// a number of requests, or a trace with an end of its own.
func (b *bench) lasts() time.Duration {
	byTrace := b.scenario.Workload.Arrival.Process == profiles.TraceArrival && !b.flags.phases.durationGiven
	if b.flags.requests > 0 || byTrace {
		return 0
	}
	return b.flags.duration
}

// divide checks the workload and finds out how many requests this shard sends.
func (b *bench) divide() error {
	whole, err := b.stream(false, workShare{})
	if err != nil {
		return err
	}
	if b.scenario.Experiment == experimentSharedPrefix && !b.flags.phases.startAt.IsZero() {
		return errors.New("the shared-prefix experiment and --start-at: only the first of its runs could start then; give one of them")
	}
	shard := b.flags.phases.shard
	if b.requests = shard.share(b.flags.requests, whole, b.flags.warmup); b.flags.requests > 0 && b.requests == 0 {
		return fmt.Errorf("--requests %d leaves none for shard %d of %d", b.flags.requests, shard.i+1, shard.n)
	}
	if n, closed := whole.Closed(); closed && n < shard.n {
		return fmt.Errorf("a concurrency of %d leaves shard %d of %d with none", n, shard.i+1, shard.n)
	}
	_, err = b.stream(false, shard)
	return err
}
