package reports

import (
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// DefaultMaxFailures is the share of failed requests above which a run is not
// trustworthy.
const DefaultMaxFailures = 0.01

// Summarize computes the report of a run from its records by the definitions of
// docs/metrics.md. It reads the records once and keeps a few numbers of each
// request, never its chunks. The order of the records does not matter.
func Summarize(run record.Run, records iter.Seq[*record.Record]) *Report {
	c := NewCollector(run)
	for r := range records {
		c.Add(r)
	}
	return c.Report()
}

// Collector gathers what a report needs from the records of a run as they come.
type Collector struct {
	run      record.Run
	requests Requests
	judge    judge
	timeline *timeline

	// Of engines whose steps the records name: by the steps, and in the order in
	// which they came.
	tallies map[*record.Steps]*tally
	tallied []*tally

	samples samples
	sources map[record.TokensSource]int
	details failureTexts

	prompt, cached, output counter
	cachedPrompt           int // prompt tokens of the requests whose cached tokens are known
	promptUnknown          int // ok requests without a prompt count
	cachedUnknown          int // ok requests with a prompt count but no cached count
	firstAssumed           int
	implausible            int // requests of which the server told counts that can not be
	outOfFiles             int // client_ports failures that were for want of files
	together               int // chunk gaps that are too short to be gaps
	atOnce                 int // ok requests with a TPOT whose output all arrived at one time
	laterTurns             bool

	// A first end of a request is possible from firstSent + shortest on.
	firstSent, shortest time.Duration

	// Sums over what happened inside the window, whoever it belongs to.
	sentInside, completedInside int
	outputInside, promptInside  float64
	goodOutput                  float64 // the part of outputInside that belongs to good requests
}

// samples are the values behind every distribution of a report.
type samples struct {
	ttft, ttftFromSchedule, ttfo, tpot, icl, itl, e2e, e2eToClose, lag stats.Sample
	askedInput, input, askedOutput, output                             stats.Sample
}

// all are the samples, of lengths too.
func (s *samples) all() []*stats.Sample {
	return []*stats.Sample{&s.ttft, &s.ttftFromSchedule, &s.ttfo, &s.tpot, &s.icl, &s.itl, &s.e2e, &s.e2eToClose, &s.lag,
		&s.askedInput, &s.input, &s.askedOutput, &s.output}
}

// simulatedValues is how many different values of a metric are kept of a simulated
// run, which may be of any length at no cost but memory. It is enough for the exact
// p99.9 of most runs. Gaps between tokens, of which each step of each replica makes
// one, have room for some minutes of a cluster. All together take some 30 MB.
const (
	simulatedValues = 50_000
	simulatedGaps   = 400_000
)

// counter is a sum of counts that is absent until one was known.
type counter struct {
	sum   int
	known int
}

func (c *counter) add(n record.Count) {
	if v, ok := n.Value(); ok {
		c.sum += v
		c.known++
	}
}

func (c counter) value() *int {
	if c.known == 0 {
		return nil
	}
	return &c.sum
}

// NewCollector begins a report. While the end of the window is not known it may be
// anything that lies behind all moments of the records that were added so far;
// SetRun tells it then.
func NewCollector(run record.Run) *Collector {
	c := &Collector{
		run:       run.Clean(),
		judge:     newJudge(run.SLO),
		timeline:  newTimeline(),
		firstSent: math.MaxInt64 / 2, shortest: math.MaxInt64 / 2,
		sources:  map[record.TokensSource]int{},
		details:  failureTexts{},
		requests: Requests{Failures: map[record.Failure]int{}, MaxFailures: run.MaxFailures},
	}
	if run.Kind == Simulate {
		for _, s := range c.samples.all() {
			s.Limit = simulatedValues
		}
		c.samples.icl.Limit, c.samples.itl.Limit = simulatedGaps, simulatedGaps
	}
	switch {
	case run.MaxFailures == 0:
		c.requests.MaxFailures = DefaultMaxFailures
	case run.MaxFailures < 0:
		c.requests.MaxFailures = 0
	}
	return c
}

// inside reports whether a moment lies in the window, both ends included: the
// last request of a run that is bounded by a number is sent at its very end.
func (c *Collector) inside(d time.Duration) bool {
	return d >= c.run.Window.Start && d <= c.run.Window.End
}

// member reports whether a request belongs to the window: by when it was due,
// or by when it was sent where nothing was due.
func (c *Collector) member(r *record.Record) bool {
	moment := r.Scheduled
	if c.run.ClosedLoop || !moment.Known() {
		moment = r.Sent
	}
	if !moment.Known() {
		moment = r.Scheduled
	}
	d, ok := moment.Since()
	return ok && c.inside(d)
}

// SetRun replaces what is known of the run.
func (c *Collector) SetRun(run record.Run) { c.run = run.Clean() }

// Add adds a record, of which nothing is kept.
func (c *Collector) Add(r *record.Record) {
	c.traffic(r)
	member := c.member(r)
	output := c.events(r, member)
	if !member {
		return
	}
	c.count(r)
	c.latencies(r)
	if good := c.judge.add(r, c.run.Window.End); good {
		c.goodOutput += output
	}
}

// traffic adds what a request did inside the window even if it belongs to
// another one.
func (c *Collector) traffic(r *record.Record) {
	sent, wasSent := r.Sent.Since()
	if !wasSent {
		return
	}
	c.firstSent = min(c.firstSent, sent)
	if c.inside(sent) {
		c.sentInside++
	}
	if first, ok := r.First.Since(); ok && c.inside(first) {
		n, known := r.Input.Value()
		c.promptInside += float64(n)
		if !known && r.Outcome == record.OK {
			c.promptUnknown++
		}
	}
	if end, ok := r.End().Since(); ok {
		c.timeline.inFlight(sent, end)
		if r.Outcome == record.OK {
			c.shortest = min(c.shortest, end-sent)
			c.timeline.complete(end)
			if c.inside(end) {
				c.completedInside++
			}
		}
	}
}

// count adds a request of the window to the counts.
func (c *Collector) count(r *record.Record) {
	q := &c.requests
	q.Scheduled++
	if r.Sent.Known() {
		q.Sent++
	}
	switch r.Outcome {
	case record.OK:
		q.OK++
	case record.Failed:
		q.Failed++
		q.Failures[r.Failure]++
		c.details.add(r.Failure, r.Detail)
	case record.Cancelled:
		q.Cancelled++
	case record.Cut:
		q.Cut++
	case record.Dropped:
		q.Dropped++
	}
	if r.ShortOutput {
		q.ShortOutput++
	}
	if r.UsageImplausible {
		c.implausible++
	}
	if r.Failure == record.ClientPorts && strings.HasPrefix(r.Detail, record.OutOfFiles) {
		c.outOfFiles++
	}
	c.laterTurns = c.laterTurns || r.Turn > 0
	c.prompt.add(r.Input)
	c.cached.add(r.Cached)
	c.output.add(r.Output)
	if n, ok := r.Input.Value(); ok && r.Cached.Known() {
		c.cachedPrompt += n
	}
	if r.Outcome == record.OK {
		c.countOK(r)
	}
}

func (c *Collector) countOK(r *record.Record) {
	if r.Output.Known() {
		c.sources[r.TokensSource]++
	}
	if _, known := r.FirstTokens(); !known {
		c.firstAssumed++
	}
	if _, defined := r.TPOT(); defined {
		if span, _ := r.Last.Sub(r.First); span < oneRead {
			c.atOnce++
		}
	}
	if r.Input.Known() && !r.Cached.Known() {
		c.cachedUnknown++
	}
	s := &c.samples
	for _, pair := range []struct {
		count  record.Count
		sample *stats.Sample
	}{{r.AskedInput, &s.askedInput}, {r.Input, &s.input}, {r.AskedOutput, &s.askedOutput}, {r.Output, &s.output}} {
		if n, ok := pair.count.Value(); ok {
			pair.sample.Add(float64(n))
		}
	}
}

// latencies adds the times of a request of the window. What was measured before
// a request was cancelled or cut stays valid (its first token did come then);
// its end did not come, so it has no TPOT and no E2E. A failed request has
// neither: a server that fails fast must not look fast.
func (c *Collector) latencies(r *record.Record) {
	s := &c.samples
	if !c.run.ClosedLoop {
		addTime(&s.lag, r.Lag)
	}
	if r.Outcome == record.Failed || r.Outcome == record.Dropped {
		return
	}
	addTime(&s.ttft, r.TTFT)
	addTime(&s.ttfo, r.TTFO)
	if !c.run.ClosedLoop {
		addTime(&s.ttftFromSchedule, r.TTFTFromSchedule)
	}
	if r.Outcome == record.OK {
		addTime(&s.tpot, r.TPOT)
		addTime(&s.e2e, r.E2E)
		addTime(&s.e2eToClose, r.E2EToClose)
	}
}

func addTime(s *stats.Sample, metric func() (time.Duration, bool)) {
	if d, ok := metric(); ok {
		s.Add(inSeconds(d))
	}
}

// inSeconds is the float64 nearest to d in seconds, which prints with at most
// nine decimals.
func inSeconds(d time.Duration) float64 { return float64(d) / 1e9 }

// rounded drops the digits of a rate or a ratio that nobody measured: it keeps
// nine significant ones.
func rounded(v float64) float64 { return toDigits(v, 9) }

// short keeps four significant digits, for series of many numbers.
func short(v float64) float64 { return toDigits(v, 4) }

// toDigits rounds by decimal digits, which are the same on every machine; powers
// and logarithms are not.
func toDigits(v float64, digits int) float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return v
	}
	var text [32]byte
	out, err := strconv.ParseFloat(string(strconv.AppendFloat(text[:0], v, 'e', digits-1, 64)), 64)
	if err != nil {
		return v // beyond the largest number, by its last digits
	}
	return out
}

// ratio is a ÷ b, absent when b is 0.
func ratio(a, b float64) *float64 {
	if b == 0 {
		return nil
	}
	v := rounded(a / b)
	return &v
}
