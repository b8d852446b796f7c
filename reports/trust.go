package reports

import (
	"fmt"
	"math"
	"time"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
)

const (
	// minLagLimit and lagShare are the default limit on the client's own
	// lateness: lag p99 above 5 ms and above 5 % of TTFT p50 is too late.
	minLagLimit = 5 * time.Millisecond
	lagShare    = 0.05
	// maxCPUFraction of its cores is what a client may use and still be
	// believed: above it, events wait for the processor before they are stamped.
	maxCPUFraction = 0.9
	// warmCache is the hit rate above which a run without shared prefixes was
	// served from what an earlier run left in the cache.
	warmCache = 0.02
	// lengthDrift is the difference between the mean length asked for and the
	// one that the server counted above which a reader is warned.
	lengthDrift = 0.02
	// reachedShare is the share of the rate asked for below which a load was not
	// reached, where chance does not explain it (four standard deviations of a
	// Poisson count).
	reachedShare = 0.9
	// oneRead is the gap below which two events are taken to have come with one
	// read: no engine makes tokens of one request that fast.
	oneRead = 50 * time.Microsecond
	// maxSteal is the share of the machine's processor time that may go to other
	// machines on the same host before a reader is warned.
	maxSteal = 0.05
	// coalescedShare is the share of such gaps above which a reader is warned.
	coalescedShare = 0.10
)

// client decides whether the client limited the run.
func (c *Collector) client(r *Report) Client {
	out := Client{Reasons: []string{}}
	if c.run.Kind == Simulate {
		return out // virtual time waits for nobody
	}
	pause := inSeconds(c.run.Client.GCPauseP99)
	out.GCPauseP99S = &pause
	if f := c.run.Client.CPUFraction; f >= 0 {
		out.CPUFraction = ratio(f, 1)
	}
	c.process(&out)
	because := func(format string, args ...any) {
		out.Limited = true
		out.Reasons = append(out.Reasons, fmt.Sprintf(format, args...))
	}
	if r.Lag != nil {
		limit := c.lagLimit(r)
		out.LagLimitS = &limit
		if r.Lag.P99 > limit {
			because("requests were sent late: lag p99 %s, limit %s", units.Seconds(r.Lag.P99), units.Seconds(limit))
		}
	}
	if f := c.run.Client.CPUFraction; f > maxCPUFraction {
		because("the client used %.0f %% of its CPU, limit %.0f %%", 100*f, 100*maxCPUFraction)
	}
	if n := c.requests.Dropped; n > 0 {
		because("%s dropped: the client was at its cap, or too late", count(n, "request"))
	}
	if n := c.outOfFiles; n > 0 {
		because("%s failed because %s", count(n, "request"), record.OutOfFiles)
	}
	if n := c.requests.Failures[record.ClientPorts] - c.outOfFiles; n > 0 {
		because("%s found no free port on the client", count(n, "request"))
	}
	return out
}

// process is what is known of the client's process and decides nothing.
func (c *Collector) process(out *Client) {
	seen := c.run.Client
	if wait, ok := seen.SchedLatencyP99.Since(); ok {
		s := inSeconds(wait)
		out.SchedLatencyP99S = &s
	}
	if seen.CPUSteal != nil {
		out.CPUSteal = ratio(*seen.CPUSteal, 1)
	}
	for _, peak := range []struct {
		seen record.Count
		out  **int
	}{{seen.PeakRSSBytes, &out.PeakRSSBytes}, {seen.PeakHeapBytes, &out.PeakHeapBytes}, {seen.PeakGoroutines, &out.PeakGoroutines}} {
		if n, ok := peak.seen.Value(); ok {
			*peak.out = &n
		}
	}
}

func (c *Collector) lagLimit(r *Report) float64 {
	if c.run.Client.MaxLag > 0 {
		return inSeconds(c.run.Client.MaxLag)
	}
	limit := inSeconds(minLagLimit)
	if r.TTFT != nil {
		limit = max(limit, lagShare*r.TTFT.P50)
	}
	return rounded(limit)
}

// warn adds what the records and the run show to be doubtful.
func (c *Collector) warn(r *Report) {
	q := r.Requests
	if r.Interrupted {
		c.note(r, "interrupted", "the run was interrupted; the numbers are of its first %s", units.Seconds(windowLength(c.run.Window)))
	}
	if q.Scheduled == 0 {
		c.note(r, "empty_window", "no request belongs to the window from %s to %s", units.Seconds(r.Window.StartS), units.Seconds(r.Window.EndS))
	}
	if expected := c.run.AskedRPS * windowLength(c.run.Window); expected > 0 && !r.Interrupted {
		if n := float64(q.Scheduled); n < reachedShare*expected && expected-n > 4*math.Sqrt(expected) {
			c.note(r, RateNotReached, "%s/s were due, of %s/s asked for: later turns of sessions come once their users have thought, so a longer --warmup is needed", units.Number(n/windowLength(c.run.Window)), units.Number(c.run.AskedRPS))
		}
	}
	if s := q.FailedShare; s != nil && *s > q.MaxFailures {
		c.note(r, "too_many_failures", "%s, more than %s (--max-failures)", q.failedText(), percent(q.MaxFailures))
	}
	if p := r.PrefixCache; p != nil && p.HitRate > warmCache && !c.run.SharedPrefix && !c.laterTurns {
		c.note(r, "warm_cache", "%s of the prompt tokens came from the prefix cache though the workload shares none: an earlier run warmed it; use another --seed or restart the target", percent(p.HitRate))
	}
	if steal := r.Client.CPUSteal; steal != nil && *steal > maxSteal {
		c.note(r, "cpu_steal", "the host gave %s of this machine's processor time to others, more than %s; times may be late by as much", percent(*steal), percent(maxSteal))
	}
	if s := r.Server; s != nil && s.Restarted {
		c.note(r, "server_restarted", "a counter of the server fell during the run: it was restarted, or several servers answer at one address; what its counters say is left out")
	}
	if c.implausible > 0 {
		c.note(r, "usage_implausible", "for %s the server told token counts that can not be (more cached than prompt tokens, no output or far less than events, more than was asked for, negative, or huge); they are taken as absent", count(c.implausible, "request"))
	}
	switch r.Tokens.Source {
	case string(record.Estimated):
		c.note(r, "tokens_estimated", "the server sent no usage; output tokens are estimated by encoding the text, so TPOT and tokens/s are too")
	case string(record.FromChunk):
		c.note(r, "tokens_estimated", "the server sent no usage; output tokens are the number of events, so TPOT and tokens/s may be off by a factor")
	case "mixed":
		c.note(r, "tokens_estimated", "the server sent usage for some requests only; the tokens of the others are estimated, or the number of their events")
	}
	if c.samples.icl.Approximate() {
		c.note(r, "icl_approximate", "%s chunk gaps are too many to keep; their percentiles come from buckets of at most 0.1 %%", units.Count(int64(c.samples.icl.N())))
	}
	if share := ratio(float64(c.together), float64(c.samples.icl.N())); share != nil && *share > coalescedShare {
		c.note(r, "coalesced", "%s of events arrived together with the one before: icl and tpot of short answers are those of reads, not of tokens", percent(*share))
	}
	if c.atOnce > 0 {
		c.note(r, "single_arrival", "all output of %s arrived at one time; their tpot of 0 says nothing about the server", count(c.atOnce, "ok request"))
	}
	if p := r.PrefixCache; p != nil && p.Source == "usage" && c.cachedUnknown > 0 {
		c.note(r, "cached_partial", "%s did not say how many prompt tokens were cached; the hit rate is of the others", count(c.cachedUnknown, "ok request"))
	}
	if q.ShortOutput > 0 {
		c.note(r, "short_output", "%s ended before the output length asked for", count(q.ShortOutput, "request"))
	}
	c.warnLength(r, "input", r.InputLength)
	c.warnSimulated(r)
}

func (c *Collector) warnLength(r *Report, name string, l *Lengths) {
	if l == nil || l.AskedMean == nil || l.Mean == nil || *l.AskedMean == 0 {
		return
	}
	if drift := *l.Mean / *l.AskedMean - 1; math.Abs(drift) > lengthDrift {
		c.note(r, name+"_length", "the server counted %s %s tokens per request on average, the workload asked for %s", units.Number(*l.Mean), name, units.Number(*l.AskedMean))
	}
}

// count writes a number of things: "1 request", "2,000 requests".
func count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return units.Count(int64(n)) + " " + thing + "s"
}

// percent writes a share of one with the digits that tell it from 0 and 100 %.
func percent(v float64) string {
	switch p := 100 * v; {
	case p == math.Trunc(p):
		return fmt.Sprintf("%.0f %%", p)
	case p < 0.1 || p > 99.9 && p < 100:
		return fmt.Sprintf("%.2f %%", p)
	default:
		return fmt.Sprintf("%.1f %%", p)
	}
}
