package loadgen

import (
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/llmctl/llmctl/loadgen/telemetry"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// liveInterval is how often a live view is told the state of the run.
const liveInterval = 100 * time.Millisecond

// collector takes the records of ended requests and the counts of the run. One
// goroutine hands both on, so that callbacks run one at a time.
type collector struct {
	r       *runner
	watch   *telemetry.Watch
	records chan *record.Record
	kept    []*record.Record
	exited  chan struct{}

	scheduled, sent, tokens atomic.Int64

	// Of the collector's goroutine alone:
	ok, failed, cancelled, dropped int
	failures                       map[record.Failure]int
	failing                        failureRule
	history                        []counts // of the last second, oldest first

	saturation saturation

	mu         sync.Mutex
	ttft, tpot recent
	lag        recent
}

// counts are running totals at one time.
type counts struct {
	at                       time.Duration
	scheduled, ended, tokens int64
}

func startCollector(r *runner, w *telemetry.Watch) *collector {
	c := &collector{
		r:        r,
		watch:    w,
		records:  make(chan *record.Record, 1024),
		exited:   make(chan struct{}),
		failures: map[record.Failure]int{},
	}
	c.failing.limit = r.o.AbortFailures
	if r.open { // a closed loop can not outrun its target
		c.saturation.window = r.o.AbortSaturated
	}
	go c.loop()
	return c
}

// add hands over the record of a request that has ended.
func (c *collector) add(rec *record.Record) { c.records <- rec }

// stop waits until everything is handed on and returns the records that nobody
// took. No record may be added after it.
func (c *collector) stop() []*record.Record {
	close(c.records)
	<-c.exited
	return c.kept
}

func (c *collector) loop() {
	defer close(c.exited)
	var tick <-chan time.Time
	if c.r.o.OnLive != nil || c.saturation.window > 0 {
		ticker := time.NewTicker(liveInterval)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case rec, ok := <-c.records:
			if !ok {
				c.publish()
				return
			}
			c.take(rec)
		case <-tick:
			c.publish()
			c.r.abort(c.saturation.sample(c.r.now()-c.r.o.Warmup, int(c.r.flying.Load())))
		}
	}
}

func (c *collector) take(rec *record.Record) {
	rec.Clean()
	switch rec.Outcome {
	case record.OK:
		c.ok++
	case record.Failed:
		c.failed++
		c.failures[rec.Failure]++
	case record.Dropped:
		c.dropped++
	default:
		c.cancelled++
	}
	if rec.Outcome == record.OK || rec.Outcome == record.Failed {
		if c.r.now() >= c.r.o.Warmup {
			c.r.abort(c.failing.add(rec.Outcome == record.Failed))
		}
	}
	if lag, ok := rec.Sent.Sub(rec.Scheduled); ok {
		sent, _ := rec.Sent.Since()
		c.note(&c.lag, sent, lag)
	}
	if tpot, ok := rec.TPOT(); ok && tpot > 0 {
		last, _ := rec.Last.Since()
		c.note(&c.tpot, last, tpot)
	}
	if c.r.o.OnRecord != nil {
		c.r.o.OnRecord(rec)
	} else {
		c.kept = append(c.kept, rec)
	}
}

// first notes a first token as it arrives.
func (c *collector) first(now, ttft time.Duration) {
	c.note(&c.ttft, now, ttft)
	c.saturation.first(now-c.r.o.Warmup, ttft)
}

// output notes output tokens as they arrive.
func (c *collector) output(n int) { c.tokens.Add(int64(n)) }

func (c *collector) note(to *recent, at, value time.Duration) {
	if c.r.o.OnLive == nil {
		return
	}
	c.mu.Lock()
	to.add(at, value)
	c.mu.Unlock()
}

// publish tells the live view the state of the run.
func (c *collector) publish() {
	if c.r.o.OnLive == nil {
		return
	}
	now := c.r.now()
	current := counts{at: now, scheduled: c.scheduled.Load(), ended: int64(c.ok + c.failed), tokens: c.tokens.Load()}
	c.history = append(c.history, current)
	for len(c.history) > 2 && now-c.history[1].at >= time.Second {
		c.history = slices.Delete(c.history, 0, 1)
	}
	oldest := c.history[0]
	per := func(n int64) float64 {
		if seconds := (now - oldest.at).Seconds(); seconds > 0 {
			return float64(n) / seconds
		}
		return 0
	}
	live := record.Live{
		Elapsed: now, Total: c.r.planned(), Phase: c.r.phase(now),
		Scheduled: int(current.scheduled), Sent: int(c.sent.Load()), InFlight: int(c.r.flying.Load()),
		OK: c.ok, Failed: c.failed, Cancelled: c.cancelled, Dropped: c.dropped,
		PlannedRequests:  c.r.o.Requests,
		OutputTokens:     int(current.tokens),
		CompletedRPS:     per(current.ended - oldest.ended),
		OutputTokensPerS: per(current.tokens - oldest.tokens),
		Failures:         maps.Clone(c.failures),
		Server:           c.watch.Latest(),
	}
	if live.ClosedLoop = !c.r.open; c.r.open {
		live.OfferedRPS = per(current.scheduled - oldest.scheduled)
	}
	c.mu.Lock()
	live.TTFT, live.TPOT, live.Lag = c.ttft.percentiles(now), c.tpot.percentiles(now), c.lag.percentiles(now)
	c.mu.Unlock()
	c.r.o.OnLive(live)
}

// recent is the last few hundred measurements of one kind.
type recent struct {
	samples []sample
	next    int
}

type sample struct{ at, value time.Duration }

const recentSize = 512

func (r *recent) add(at, value time.Duration) {
	if len(r.samples) < recentSize {
		r.samples = append(r.samples, sample{at, value})
		return
	}
	r.samples[r.next] = sample{at, value}
	r.next = (r.next + 1) % recentSize
}

// percentiles are those of the last few seconds.
func (r *recent) percentiles(now time.Duration) record.LivePercentiles {
	var values []float64
	for _, s := range r.samples {
		if now-s.at <= record.LiveSpan {
			values = append(values, float64(s.value))
		}
	}
	if len(values) == 0 {
		return record.LivePercentiles{}
	}
	slices.Sort(values)
	return record.LivePercentiles{
		N:   len(values),
		P50: time.Duration(stats.Percentile(values, 50)),
		P99: time.Duration(stats.Percentile(values, 99)),
	}
}
