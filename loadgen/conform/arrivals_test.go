package conform

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// made is a generation whose events with output came at some times.
func made(alone time.Duration, own stalls, at ...time.Duration) *generation {
	s := &streamed{headed: at[0]}
	for _, t := range at {
		s.events = append(s.events, event{at: t, output: true})
	}
	s.took = at[len(at)-1]
	return &generation{streamed: s, header: s.headed, alone: alone, tokens: len(at), stalls: own}
}

// evenly are n times, one each.
func evenly(n int, first, each time.Duration) (at []time.Duration) {
	for i := range n {
		at = append(at, first+time.Duration(i)*each)
	}
	return at
}

// inLumps are n times of which size each are the same.
func inLumps(n, size int, each time.Duration) (at []time.Duration) {
	for i := range n {
		at = append(at, each*time.Duration(size*(1+i/size)))
	}
	return at
}

// What buffers does so each time; what a machine that is busy, here or there,
// delays comes in time once, or is not to be told.
func TestArrivalsAreJudgedByMoreThanOneLook(t *testing.T) {
	const ms = time.Millisecond
	alone := 20 * ms
	buffered := made(alone, nil, evenly(100, 1000*ms, 0)...)
	passing := made(alone, nil, evenly(100, alone, 10*ms)...)
	late := made(alone, nil, evenly(100, 700*ms, 3*ms)...)
	asleep := made(alone, stalls{900 * ms}, evenly(100, 1000*ms, 0)...)
	lumpy := made(alone, nil, inLumps(100, 10, 10*ms)...)
	stutter := made(alone, stalls{100 * ms, 100 * ms, 100 * ms, 100 * ms}, inLumps(100, 10, 10*ms)...)
	quick := made(alone, nil, inLumps(1000, 100, ms)...)
	long := made(alone, nil, evenly(100, 5000*ms, 0)...)
	for _, tt := range []struct {
		name string
		at   look
		time time.Duration // left
		seen []*generation
		want Verdict
		says string
	}{
		{"each time all at the end", spread, time.Hour, []*generation{buffered, buffered, buffered}, Fail, "something on the way buffers, as the other times"},
		{"as it is made", spread, time.Hour, []*generation{passing}, Pass, "in 990 ms of 990 ms"},
		{"late once", spread, time.Hour, []*generation{late, passing}, Pass, ""},
		{"late twice", spread, time.Hour, []*generation{late, late, passing}, Pass, ""},
		{"read late once", spread, time.Hour, []*generation{asleep, buffered, buffered}, Fail, ""},
		{"read late twice", spread, time.Hour, []*generation{asleep, buffered, asleep}, Skip, "this machine stood still for 900 ms"},
		{"late, then too short to tell", spread, time.Hour, []*generation{buffered, nil}, Skip, "looking again: too short"},
		{"too short to tell", spread, time.Hour, []*generation{nil}, Skip, "too short"},
		{"a long one, and no time for another", spread, time.Second, []*generation{long}, Fail, "buffers"},
		{"a short one, and no time for another", spread, 0, []*generation{buffered, nil}, Skip, "looking again"},
		{"a header at the end", headerFirst, time.Hour, []*generation{buffered, buffered, buffered}, Fail, "after 1000 ms of 1000 ms"},
		{"a header at the end once", headerFirst, time.Hour, []*generation{buffered, passing}, Pass, ""},
		{"a header that was read late", headerFirst, time.Hour, []*generation{asleep, asleep}, Skip, "stood still"},
		{"in lumps each time", even, time.Hour, []*generation{lumpy, lumpy, lumpy}, Fail, "100 of 100 events"},
		{"in lumps once", even, time.Hour, []*generation{lumpy, passing}, Pass, ""},
		{"in lumps that were read late", even, time.Hour, []*generation{stutter, lumpy, stutter}, Skip, "stood still for 400 ms"},
		{"in lumps, and fast", even, time.Hour, []*generation{quick}, Skip, "faster than a client can tell"},
		{"in one lump", even, time.Hour, []*generation{buffered}, Skip, "(buffering/spread)"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), tt.time)
			defer cancel()
			p := new(probe)
			for _, g := range tt.seen {
				m := memo[*generation]{done: true, value: g}
				if g == nil {
					m.err = skipped("too short")
				}
				p.arrivals.seen = append(p.arrivals.seen, m)
			}
			seen, err := arriving(tt.at)(ctx, p)
			got, says := Pass, seen
			if reason, skipping := isSkip(err); skipping {
				got, says = Skip, reason
			} else if err != nil {
				got, says = Fail, err.Error()
			}
			if got != tt.want || !strings.Contains(says, tt.says) {
				t.Errorf("%s: %s, want %s: …%s…", got, says, tt.want, tt.says)
			}
		})
	}
}

// Gaps between beats count from a length on which timers of an idle machine stay
// below.
func TestStallsAreGapsThatTimersDoNotHave(t *testing.T) {
	var s stalls
	for _, gap := range []time.Duration{beatEvery, stallFrom - 1, stallFrom, 50 * time.Millisecond} {
		s = s.after(gap)
	}
	if len(s) != 2 || s.longest() != 50*time.Millisecond || s.sum(10*time.Millisecond) != 50*time.Millisecond || s.sum(0) != stallFrom+50*time.Millisecond {
		t.Errorf("stalls %v, longest %v", s, s.longest())
	}
	synctest.Test(t, func(t *testing.T) {
		p := startPulse()
		time.Sleep(time.Second) // of the bubble, where all timers are on time
		if got := p.end(); len(got) > 0 {
			t.Errorf("stalls where there are none: %v", got)
		}
	})
}

// A second look that can not be had is no second fault.
func TestInconclusiveLooksNeverFail(t *testing.T) {
	err := inconclusive(wrong("late"), errors.New("reset"))
	if reason, skipping := isSkip(err); !skipping || reason != "late; looking again: reset" {
		t.Errorf("%v", err)
	}
	late := fmt.Errorf("no end within 30.0 s: %w", context.DeadlineExceeded)
	if _, skipping := isSkip(inconclusive(nil, late)); !skipping {
		t.Error("a case whose time is up fails")
	}
	if err := inconclusive(nil, wrong("refused")); err.Error() != "refused" {
		t.Errorf("%v", err)
	}
}
