package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/llmctl/llmctl/reports"
)

// repeats measures once for each keeper, until someone stops it or the target
// dies. What was measured before an error is returned with it.
func (b *bench) repeats(ctx context.Context, stop *stopper, t target, keepers []*keeper) (measured []*reports.Report, err error) {
	for i, k := range keepers {
		v := variant{id: b.id}
		if len(keepers) > 1 {
			v.title = fmt.Sprintf("repeat %d of %d", i+1, len(keepers))
		}
		if i > 0 {
			v.id = newID() // other prompts: the target must not find them in its cache
		}
		report, err := b.measure(ctx, stop, t, v, k)
		if err != nil {
			return measured, err
		}
		measured = append(measured, report)
		select {
		case <-stop.stopped:
			return measured, nil
		case <-t.died():
			return measured, nil
		default:
		}
	}
	return measured, nil
}

// show writes the report of one run, or those of several and what they have in
// common.
func (b *bench) show(measured []*reports.Report) error {
	if b.flags.phases.repeat == 1 {
		return b.flags.output.writeRun(b.io, measured[0])
	}
	return b.flags.output.writeRepeats(b.io, reports.NewRepeats(measured), reports.WriteRepeats)
}

// severity orders exit codes by what a script must know first.
var severity = []int{exitOK, exitNotHeld, exitUntrusted, exitFailed, exitInterrupted}

// worst is the error with the worst exit code; nil when there is none.
func worst(all []error) error {
	code := func(err error) int {
		if err == nil {
			return exitOK
		}
		f := &failure{code: exitFailed}
		errors.As(err, &f)
		return f.code
	}
	return slices.MaxFunc(all, func(a, b error) int {
		return slices.Index(severity, code(a)) - slices.Index(severity, code(b))
	})
}

// prelude is how long before the start the load generator takes over, to open
// its connections.
const prelude = 2 * time.Second

// countdown waits for the time of --start-at and says how long that is.
func (b *bench) countdown(stop *stopper) error {
	at := b.flags.phases.startAt
	if at.IsZero() {
		return nil
	}
	if left := time.Until(at); left <= 0 {
		return fmt.Errorf("the start at %s has passed while the target was made ready", at.UTC().Format(time.RFC3339))
	}
	for left := time.Until(at); left > prelude; left = time.Until(at) {
		seconds := int(left.Round(time.Second).Seconds())
		if said := seconds <= 10 || seconds%10 == 0 && seconds <= 60 || seconds%60 == 0; said && b.progress() != "none" {
			fmt.Fprintf(b.io.Err, "starting in %d s\n", seconds)
		}
		select {
		case <-stop.stopped:
			return errInterrupted
		case <-time.After(min(left-prelude, time.Second)):
		}
	}
	return nil
}
