package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/simulator"
	"github.com/llmctl/llmctl/simulator/study"
)

// What ends within showAfter shows nothing of its progress; from then on it is
// shown every showEvery on a screen, and every plainInterval where lines stay.
const (
	showAfter = time.Second
	showEvery = 200 * time.Millisecond
)

// batchView shows how far the simulations of a call are: one by itself as a run in
// progress, several as a count.
type batchView struct {
	sim    *simulation
	course *course
	single *liveSimulation

	mu       sync.Mutex
	line     *progress
	all      int // simulations; 0 while their number is not known
	finished int
	sent     int64 // requests
}

func (sim *simulation) newBatchView(c *course, all int) *batchView {
	return &batchView{sim: sim, course: c, all: all, line: newProgress(sim.io, time.Now)}
}

// taps are those of one simulation.
func (b *batchView) taps(st *study.Study, k study.Keeper) study.Taps {
	taps := study.Taps{Keep: k, Watch: b.course.order, Ended: b.course.ended, Skip: b.course.over}
	switch {
	case b.sim.screen.kind() == "none":
	case b.all == 1:
		b.single = newLiveSimulation(b.sim, b.course, st)
		taps.Record = b.single.record
		taps.Watch = func(p simulator.Progress) simulator.Order {
			b.single.watch(p)
			return b.course.order(p)
		}
	default:
		seen := int64(0)
		taps.Watch = func(p simulator.Progress) simulator.Order {
			b.say(p.Sent - seen)
			seen = p.Sent
			return b.course.order(p)
		}
	}
	return taps
}

// say tells how far all of them are, of which more requests have been sent.
func (b *batchView) say(more int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent += more
	text := units.Count(int64(b.finished))
	if b.all > 0 {
		text += " of " + units.Count(int64(b.all))
	}
	b.line.say("simulated %s; %s requests so far", text, units.Count(b.sent))
}

// done is a simulation that has ended.
func (b *batchView) done(int, *reports.Report) {
	b.mu.Lock()
	b.finished++
	b.mu.Unlock()
}

func (b *batchView) close() {
	if b.single != nil {
		b.single.close()
	}
	b.line.clear()
}

// liveSimulation shows one simulation. It is of the goroutine that simulates.
type liveSimulation struct {
	screen screen
	course *course
	length study.Length
	view   *view // nil before anything is shown

	started, shown time.Time
	live           record.Live
	before         record.Live // when it was shown last
	recent         []ended
	warm           int64 // requests sent in the warm-up
}

// ended is what a view keeps of a request.
type ended struct{ at, ttft, tpot time.Duration }

// mostRecent bounds what percentiles are taken of.
const mostRecent = 4096

func newLiveSimulation(sim *simulation, c *course, st *study.Study) *liveSimulation {
	now := time.Now()
	return &liveSimulation{
		screen: sim.screen, course: c, length: st.Length(), started: now, shown: now.Add(showAfter - showEvery),
		live: record.Live{ClosedLoop: true, Failures: map[record.Failure]int{}}, // there is no client that could be late
	}
}

// record counts a request that has ended.
func (v *liveSimulation) record(r *record.Record) {
	l := &v.live
	switch r.Outcome {
	case record.OK:
		l.OK++
	case record.Failed:
		l.Failed++
		l.Failures[r.Failure]++
	case record.Cancelled:
		l.Cancelled++
	case record.Dropped:
		l.Dropped++
	}
	n, _ := r.Output.Value()
	l.OutputTokens += n
	e := ended{ttft: -1, tpot: -1}
	e.at, _ = r.End().Since()
	if d, ok := r.TTFT(); ok {
		e.ttft = d
	}
	if d, ok := r.TPOT(); ok && r.Outcome == record.OK {
		e.tpot = d
	}
	if len(v.recent) == mostRecent {
		v.recent = slices.Delete(v.recent, 0, mostRecent/2)
	}
	v.recent = append(v.recent, e)
}

// watch shows the run, when it was last shown some time ago.
func (v *liveSimulation) watch(p simulator.Progress) {
	if !p.Measuring {
		v.warm = p.Sent
	}
	now := time.Now()
	plain := v.screen.kind() == "plain"
	if since := now.Sub(v.shown); since < showEvery || plain && since < plainInterval && v.before.Elapsed > 0 {
		return
	}
	v.shown = now
	l := &v.live
	l.Elapsed, l.Total, l.PlannedRequests, l.Phase = p.Now, v.length.Warmup, 0, record.WarmingUp
	if p.Measuring {
		l.Elapsed, l.Total, l.PlannedRequests, l.Phase = p.Now-v.length.Warmup, v.length.Duration, v.length.Requests, record.Measuring
	}
	if p.Ended {
		l.Phase = record.Draining
	}
	l.Sent, l.Scheduled, l.InFlight = int(p.Sent), int(p.Sent), p.Open
	l.Server = together(p)
	v.rates(p.Now)
	l.TTFT, l.TPOT = v.percentiles(p.Now)
	l.Title = v.title(p.Now, now)
	if plain {
		fmt.Fprint(v.screen.io.Err, l.Title, ": ")
		_ = reports.WriteLive(v.screen.io.Err, *l) // progress that nobody can read is no reason to end
		return
	}
	if v.view == nil {
		shown := v.screen.view("", v.course.stop)
		v.view = &shown
	}
	v.view.show(*l)
}

// rates are those since the run was shown last.
func (v *liveSimulation) rates(now time.Duration) {
	l, b := &v.live, &v.before
	over := (now - b.Elapsed).Seconds()
	if over <= 0 {
		return
	}
	l.CompletedRPS = float64(l.OK-b.OK) / over
	l.OutputTokensPerS = float64(l.OutputTokens-b.OutputTokens) / over
	*b = *l
	b.Elapsed = now
}

// percentiles are over the last record.LiveSpan of virtual time.
func (v *liveSimulation) percentiles(now time.Duration) (ttft, tpot record.LivePercentiles) {
	var a, b []time.Duration
	for _, e := range v.recent {
		if now-e.at > record.LiveSpan {
			continue
		}
		if e.ttft >= 0 {
			a = append(a, e.ttft)
		}
		if e.tpot >= 0 {
			b = append(b, e.tpot)
		}
	}
	return livePercentiles(a), livePercentiles(b)
}

func livePercentiles(times []time.Duration) record.LivePercentiles {
	if len(times) == 0 {
		return record.LivePercentiles{}
	}
	slices.Sort(times)
	at := func(p int) time.Duration { return times[(len(times)-1)*p/100] }
	return record.LivePercentiles{N: len(times), P50: at(50), P99: at(99)}
}

// title says how fast virtual time goes, and how long it will still take.
func (v *liveSimulation) title(now time.Duration, clock time.Time) string {
	took := clock.Sub(v.started).Seconds()
	text := fmt.Sprintf("simulating %s s per second", units.Number(now.Seconds()/took))
	if share := v.share(now.Seconds()); share > 0 && share < 1 {
		text += fmt.Sprintf(", %s left", time.Duration(took*(1-share)/share*1e9).Round(time.Second))
	}
	return text
}

// share is how much of all virtual time is over; 0 when nobody knows. A number of
// requests takes the warm-up, and as long after it as their rate says.
func (v *liveSimulation) share(now float64) float64 {
	warmup, sent := v.length.Warmup.Seconds(), float64(v.live.Sent)
	switch l := v.length; {
	case l.Requests > 0:
		over := now
		if now > warmup {
			sent, over = sent-float64(v.warm), now-warmup
		}
		if sent <= 0 || over <= 0 {
			return 0
		}
		return now / (warmup + over*float64(l.Requests)/sent)
	case l.Duration > 0:
		return now / (l.Warmup + l.Duration).Seconds()
	}
	return 0
}

// together is what all replicas' metrics pages would say in sum, as far as it is shown.
func together(p simulator.Progress) *record.ServerSample {
	s := record.UnknownSample()
	s.At, s.Running, s.Waiting, s.KVUsage = p.Now, float64(p.Running), float64(p.Waiting), p.KVUsage
	return &s
}

func (v *liveSimulation) close() {
	if v.view != nil {
		v.view.close()
	}
}
