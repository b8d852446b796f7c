package reports

import (
	"math"

	"github.com/llmctl/llmctl/reports/stats"
)

// evaluate checks one assertion against the run. Times come from the samples, so
// any percentile can be asked for, not only those of the report.
func (c *Collector) evaluate(r *Report, text string) AssertResult {
	a, err := ParseAssert(text)
	if err != nil {
		return AssertResult{Text: text, Reason: err.Error()}
	}
	out := AssertResult{Text: a.Text}
	v, reason := c.assertValue(r, a)
	if v == nil || math.IsNaN(*v) {
		out.Reason = reason
		return out
	}
	out.Value, out.OK = v, a.Holds(*v)
	return out
}

// assertValue is the left side of an assertion, or why there is none.
func (c *Collector) assertValue(r *Report, a Assert) (v *float64, reason string) {
	s := &c.samples
	switch a.Metric {
	case "ttft":
		return statistic(&s.ttft, a), "no request had output"
	case "ttft_from_schedule":
		return statistic(&s.ttftFromSchedule, a), "no request of an open loop had output"
	case "ttfo":
		return statistic(&s.ttfo, a), "no request had visible output"
	case "tpot":
		return statistic(&s.tpot, a), "no request had more than one token"
	case "icl":
		return statistic(&s.icl, a), "no request had more than one event"
	case "e2e":
		return statistic(&s.e2e, a), "no request completed"
	case "lag":
		return statistic(&s.lag, a), "a closed loop has no schedule to be late for"
	case "failures":
		if a.Stat == "n" {
			n := float64(r.Requests.Failed)
			return &n, ""
		}
		return r.Requests.FailedShare, "no request completed or failed"
	case "goodput":
		if r.SLO == nil {
			return nil, "no SLO was given (--slo)"
		}
		return r.SLO.GoodputRPS, "the window is empty"
	case "attainment":
		if r.SLO == nil {
			return nil, "no SLO was given (--slo)"
		}
		return r.SLO.Attainment, "no request counts"
	case "output_tokens_per_s":
		return r.Rates.OutputTokensPerS, "the window is empty"
	case "prefix_hit_rate":
		if r.PrefixCache == nil {
			return nil, "neither usage nor the server's metrics say what was cached"
		}
		return &r.PrefixCache.HitRate, ""
	default: // usd_per_1m_output_tokens, the last of the grammar
		if r.Cost == nil {
			return nil, "the price of the hardware is unknown"
		}
		return r.Cost.USDPer1MOutput, "no token arrived"
	}
}

func statistic(s *stats.Sample, a Assert) *float64 {
	var v float64
	switch {
	case a.Stat == "n":
		v = float64(s.N())
	case s.N() == 0:
		return nil
	case a.Stat == "mean":
		v = s.Mean()
	case a.Stat == "max":
		v = s.Percentile(100)
	default:
		v = s.Percentile(a.P)
	}
	v = rounded(v)
	return &v
}
