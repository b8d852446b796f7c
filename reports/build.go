package reports

import (
	"fmt"

	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// histogramBins is the number of steps of the histograms in a report.
const histogramBins = 32

// nanoseconds is the resolution of times, for stats.Sample.Dist.
const nanoseconds = 1e9

// Report is the report of what was added.
func (c *Collector) Report() *Report {
	for _, t := range c.tallied {
		t.settle(t.steps.Next())
	}
	run := c.run
	r := &Report{
		Schema: record.RunSchema, Kind: run.Kind, ID: run.ID, Asked: run.Asked, Defaults: run.Defaults, Scenario: run.Scenario,
		Target: run.Target, Environment: run.Environment, Interrupted: run.Interrupted, ClosedLoop: run.ClosedLoop,
		Window:   Window{StartS: inSeconds(run.Window.Start), EndS: inSeconds(run.Window.End)},
		Requests: c.requests,
		Warnings: append([]record.Warning{}, run.Warnings...),
		Asserts:  []AssertResult{},
	}
	r.Requests.FailedShare = ratio(float64(c.requests.Failed), float64(c.requests.OK+c.requests.Failed))
	r.Requests.FailureDetails = c.details.mostFrequent()
	c.rates(r)
	c.tokens(r)
	c.distributions(r)
	r.SLO = c.judge.report(run, windowLength(run.Window))
	r.Server = serverSection(run.Server, run.Window)
	r.Timeline = seriesSection(run.Server)
	r.Bottleneck = bottlenecks(run.Spent, r)
	r.Gateway = run.Gateway
	c.gpus(r)
	r.PrefixCache = c.prefixCache(r.Server)
	r.Cost = c.cost(r)
	r.Client = c.client(r)
	c.warn(r)
	for _, text := range run.Asserts {
		r.Asserts = append(r.Asserts, c.evaluate(r, text))
	}
	return r
}

func (c *Collector) rates(r *Report) {
	length := windowLength(c.run.Window)
	if !c.run.ClosedLoop {
		r.Rates.OfferedRPS = ratio(float64(c.requests.Scheduled), length)
		if c.run.AskedRPS > 0 {
			r.Rates.AskedRPS = ratio(c.run.AskedRPS, 1)
		}
	}
	r.Rates.SentRPS = ratio(float64(c.sentInside), length)
	r.Rates.CompletedRPS = ratio(float64(c.completedInside), length)
	r.Rates.OutputTokensPerS = ratio(c.outputInside, length)
	if c.promptUnknown == 0 && c.prompt.known > 0 {
		r.Rates.TotalTokensPerS = ratio(c.outputInside+c.promptInside, length)
	}
	steady, ok := c.timeline.steady(c.run.Window.Start, c.run.Window.End)
	if !ok {
		return
	}
	start, end := inSeconds(steady.start), inSeconds(steady.end)
	r.Window.SteadyStartS, r.Window.SteadyEndS = &start, &end
	length = inSeconds(steady.end - steady.start)
	r.Rates.SteadyCompletedRPS = steady.completedRPS(c.firstSent + c.shortest)
	r.Rates.SteadyOutputTokensPerS = ratio(steady.output, length)
}

func (c *Collector) tokens(r *Report) {
	r.Tokens = Tokens{Prompt: c.prompt.value(), Cached: c.cached.value(), Output: c.output.value(), FirstEventAssumed: c.firstAssumed}
	if len(c.run.Spent) > 0 && c.requests.Cancelled > 0 {
		unread := 0
		for _, s := range c.run.Spent {
			unread += int(s.Unread)
		}
		r.Tokens.Unread = &unread
	}
	for source := range c.sources {
		if r.Tokens.Source != "" {
			r.Tokens.Source = "mixed"
			break
		}
		r.Tokens.Source = string(source)
	}
	r.InputLength = lengths(&c.samples.askedInput, &c.samples.input)
	r.OutputLength = lengths(&c.samples.askedOutput, &c.samples.output)
}

func lengths(asked, achieved *stats.Sample) *Lengths {
	if asked.N() == 0 && achieved.N() == 0 {
		return nil
	}
	var l Lengths
	if asked.N() > 0 {
		l.AskedMean, l.AskedP50 = ratio(asked.Mean(), 1), ratio(asked.Percentile(50), 1)
	}
	if achieved.N() > 0 {
		l.Mean, l.P50 = ratio(achieved.Mean(), 1), ratio(achieved.Percentile(50), 1)
	}
	return &l
}

func (c *Collector) distributions(r *Report) {
	s := &c.samples
	r.Histograms = map[string]*stats.Bins{}
	for _, m := range []struct {
		key    string
		sample *stats.Sample
		dist   **stats.Dist
	}{
		{"ttft_s", &s.ttft, &r.TTFT},
		{"ttft_from_schedule_s", &s.ttftFromSchedule, &r.TTFTFromSchedule},
		{"ttfo_s", &s.ttfo, &r.TTFO},
		{"tpot_s", &s.tpot, &r.TPOT},
		{"icl_s", &s.icl, &r.ICL},
		{"itl_s", &s.itl, &r.ITL},
		{"e2e_s", &s.e2e, &r.E2E},
		{"e2e_to_close_s", &s.e2eToClose, &r.E2EToClose},
		{"lag_s", &s.lag, &r.Lag},
	} {
		*m.dist = m.sample.Dist(nanoseconds)
		if bins := m.sample.Bins(histogramBins); bins != nil {
			r.Histograms[m.key] = bins
		}
	}
	if d := r.TPOT; d != nil {
		r.Rates.UserTokensPerSP50, r.Rates.UserTokensPerSP10 = ratio(1, d.P50), ratio(1, d.P90)
	}
}

// prefixCache takes the hit rate from the usage of each request when all say,
// else from the server's counters over the window, else from the requests that
// say.
func (c *Collector) prefixCache(server *Server) *PrefixCache {
	fromUsage := func() *PrefixCache {
		if rate := ratio(float64(c.cached.sum), float64(c.cachedPrompt)); rate != nil {
			return &PrefixCache{HitRate: *rate, Source: "usage"}
		}
		return nil
	}
	if c.cachedUnknown == 0 && c.cachedPrompt > 0 {
		return fromUsage()
	}
	if server != nil && server.PrefixHits != nil && server.PrefixQueries != nil {
		if rate := ratio(*server.PrefixHits, *server.PrefixQueries); rate != nil {
			return &PrefixCache{HitRate: *rate, Source: "server"}
		}
	}
	return fromUsage()
}

// cost is dollars per hour ÷ tokens per hour; nil without a price.
func (c *Collector) cost(r *Report) *Cost {
	perHour := c.run.Cost.USDPerHour
	if perHour <= 0 {
		return nil
	}
	per1M := func(tokensPerS *float64) *float64 {
		if tokensPerS == nil {
			return nil
		}
		return ratio(perHour/3600*1e6, *tokensPerS)
	}
	out := &Cost{USDPerHour: perHour, Source: c.run.Cost.Source,
		USDPer1MOutput: per1M(r.Rates.OutputTokensPerS), USDPer1MTotal: per1M(r.Rates.TotalTokensPerS)}
	if r.SLO != nil {
		out.GoodOutputTokensPerS = ratio(c.goodOutput, windowLength(c.run.Window))
		out.USDPer1MOutputGoodput = per1M(out.GoodOutputTokensPerS)
	}
	return out
}

func (c *Collector) note(r *Report, code, format string, args ...any) {
	r.Warnings = append(r.Warnings, record.Warning{Code: code, Text: fmt.Sprintf(format, args...)})
}
