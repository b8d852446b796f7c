package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/loadgen/search"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// CurveSchema names the document of a sweep or of a search for the limit.
const CurveSchema = "llmctl/curve/v1"

// Kinds of curves.
const (
	SweepCurve = "sweep"        // loads as given
	LimitCurve = "find-goodput" // loads as the search chose them
)

// Curve is a target under several loads, in the form of llmctl/curve/v1
// (docs/results.md). Points are in the order of their loads, repeats one after
// another.
type Curve struct {
	Schema      string             `json:"schema"`
	Kind        string             `json:"kind"`
	ID          string             `json:"id,omitempty"`
	Axis        search.Axis        `json:"axis"` // what the load of a point is
	Asked       string             `json:"asked,omitempty"`
	Setup       string             `json:"setup,omitempty"` // seed, dialect and the like, of every run
	Defaults    []record.Default   `json:"defaults,omitempty"`
	Scenario    json.RawMessage    `json:"scenario,omitempty"`
	Target      record.Target      `json:"target"`
	Environment record.Environment `json:"environment"`
	Points      []CurvePoint       `json:"points"`
	Knee        *float64           `json:"knee,omitempty"`  // load of the largest throughput ÷ response time
	Limit       *CurveLimit        `json:"limit,omitempty"` // absent when no load met the objective
	Interrupted bool               `json:"interrupted,omitempty"`
	Ended       string             `json:"ended,omitempty"` // why the search ended
	Warnings    []record.Warning   `json:"warnings"`
}

// CurvePoint is one run.
type CurvePoint struct {
	Load             float64     `json:"load"`
	Run              string      `json:"run,omitempty"` // its folder, inside that of the curve
	Requests         int         `json:"requests"`
	OK               int         `json:"ok"`
	FailedShare      *float64    `json:"failed_share,omitempty"`
	OfferedRPS       *float64    `json:"offered_rps,omitempty"`
	CompletedRPS     *float64    `json:"completed_rps,omitempty"`
	OutputTokensPerS *float64    `json:"output_tokens_per_s,omitempty"`
	TTFT             *stats.Dist `json:"ttft_s,omitempty"`
	TPOT             *stats.Dist `json:"tpot_s,omitempty"`
	E2E              *stats.Dist `json:"e2e_s,omitempty"`
	Attainment       *float64    `json:"attainment,omitempty"` // of the objective that is missed the most
	TargetShare      float64     `json:"target_share"`         // what that objective asks for
	Counted          int         `json:"counted"`              // requests that it judged
	Holds            bool        `json:"holds"`
	GoodputRPS       *float64    `json:"goodput_rps,omitempty"`
	USDPer1MOutput   *float64    `json:"usd_per_1m_output_tokens,omitempty"`
	// Trusted is false when the run says little about the target; Verdict says why.
	Trusted       bool `json:"trusted"`
	ClientLimited bool `json:"client_limited,omitempty"`
	// NotReached means that much less was due than the load says: sessions had not
	// all begun.
	NotReached bool   `json:"not_reached,omitempty"`
	Verdict    string `json:"verdict"`
	// Unreachable means that no request reached the target, so that the run says
	// nothing of a load.
	Unreachable bool `json:"-"`
}

// CurveLimit is the largest load that meets the objective.
type CurveLimit struct {
	Load       float64  `json:"load"`
	Low        float64  `json:"low"` // 95 % interval
	High       float64  `json:"high"`
	Holds      float64  `json:"holds"`             // the largest load tried that met it
	Misses     *float64 `json:"misses,omitempty"`  // the smallest above that did not
	Bracket    bool     `json:"bracket,omitempty"` // low and high are holds and misses
	AtLeast    bool     `json:"at_least,omitempty"`
	NotOffered bool     `json:"not_offered,omitempty"` // misses could not be offered: the limit lies above
}

// NewCurvePoint sums a run up for a curve.
func NewCurvePoint(load float64, run string, r *Report) CurvePoint {
	v := r.Verdict()
	p := CurvePoint{
		Load: load, Run: run, Requests: r.Requests.Scheduled, OK: r.Requests.OK, FailedShare: r.Requests.FailedShare,
		OfferedRPS: r.Rates.OfferedRPS, CompletedRPS: r.Rates.CompletedRPS, OutputTokensPerS: r.Rates.OutputTokensPerS,
		TTFT: r.TTFT, TPOT: r.TPOT, E2E: r.E2E,
		Trusted: v.Trustworthy(), ClientLimited: r.Client.Limited, Verdict: v.Reason.String(),
		TargetShare: DefaultAttainment,
	}
	if r.Cost != nil {
		p.USDPer1MOutput = r.Cost.USDPer1MOutput
	}
	if r.SLO != nil {
		p.GoodputRPS = r.SLO.GoodputRPS
		worst := -1
		for i, o := range r.SLO.Objectives {
			if o.Attainment == nil {
				continue
			}
			if worst < 0 || *o.Attainment-o.Target < *p.Attainment-p.TargetShare {
				worst = i
				p.Attainment, p.TargetShare, p.Counted = o.Attainment, o.Target, o.Counted
			}
		}
	}
	q := r.Requests
	p.Unreachable = q.Failed > 0 && q.OK == 0 && q.Failures[record.Connect] == q.Failed
	for _, w := range r.Warnings {
		if w.Code == RateNotReached {
			p.NotReached, p.Trusted, p.Verdict = true, false, "load not reached"
		}
	}
	p.Holds = !p.ClientLimited && !p.NotReached && p.Attainment != nil && *p.Attainment >= p.TargetShare
	return p
}

// RateNotReached is the code of the warning that much less was due than was asked
// for.
const RateNotReached = "rate_not_reached"

// SearchPoint is the point as a search for the limit sees it. A run of which no
// request counted says nothing of the target.
func (p CurvePoint) SearchPoint() search.Point {
	out := search.Point{Load: p.Load, Target: p.TargetShare, Counted: p.Counted, NotOffered: p.ClientLimited || p.NotReached || p.Attainment == nil}
	if p.Attainment != nil {
		out.Attainment = *p.Attainment
	}
	return out
}

// SearchPoints are all points as a search for the limit sees them.
func (c *Curve) SearchPoints() []search.Point {
	points := make([]search.Point, len(c.Points))
	for i, p := range c.Points {
		points[i] = p.SearchPoint()
	}
	return points
}

// Add puts a point in its place and finds knee and limit anew. seed is that of
// the resampling behind the limit's interval.
func (c *Curve) Add(p CurvePoint, seed uint64) {
	at := len(c.Points)
	for at > 0 && c.Points[at-1].Load > p.Load {
		at--
	}
	c.Points = append(c.Points, CurvePoint{})
	copy(c.Points[at+1:], c.Points[at:])
	c.Points[at] = p
	c.Knee = c.knee()
	c.Limit = nil
	if limit, ok := search.Find(c.SearchPoints(), seed); ok {
		c.Limit = &CurveLimit{Load: rounded(limit.Load), Low: rounded(limit.Low), High: rounded(limit.High), Holds: limit.Holds,
			Bracket: limit.Bracket, AtLeast: limit.AtLeast, NotOffered: limit.NotOffered}
		if limit.Misses > 0 {
			c.Limit.Misses = &limit.Misses
		}
	}
}

// knee is the load of the largest power: completed requests per second ÷ mean
// time of a request, each the mean over the repeats of a load.
func (c *Curve) knee() *float64 {
	var loads, throughput, response []float64
	for i := 0; i < len(c.Points); {
		load := c.Points[i].Load
		var rate, time, n float64
		for ; i < len(c.Points) && c.Points[i].Load == load; i++ {
			if p := c.Points[i]; p.CompletedRPS != nil && p.E2E != nil && p.Trusted {
				rate += *p.CompletedRPS
				time += p.E2E.Mean
				n++
			}
		}
		if n > 0 {
			loads, throughput, response = append(loads, load), append(throughput, rate/n), append(response, time/n)
		}
	}
	if at, ok := search.Knee(throughput, response); ok {
		return &loads[at]
	}
	return nil
}

// JSON is the curve as a document, indented, with a newline at its end.
func (c *Curve) JSON() (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return nil, fmt.Errorf("encoding the curve: %w", err)
	}
	return out.Bytes(), nil
}

// ParseCurve reads what JSON wrote.
func ParseCurve(doc []byte) (*Curve, error) {
	var c Curve
	if err := json.Unmarshal(doc, &c); err != nil {
		return nil, fmt.Errorf("parsing curve: %w", err)
	}
	if c.Schema != CurveSchema {
		return nil, fmt.Errorf("parsing curve: its schema is %q, expected %s", c.Schema, CurveSchema)
	}
	for i, p := range c.Points {
		if !(p.Load > 0) || i > 0 && p.Load < c.Points[i-1].Load {
			return nil, fmt.Errorf("parsing curve: point %d has a load of %g, expected loads above 0 in ascending order", i+1, p.Load)
		}
	}
	return &c, nil
}

// SameScenario reports whether two curves differ in nothing but the load of
// their first run.
func (c *Curve) SameScenario(other *Curve) bool {
	return bytes.Equal(withoutLoad(c.Scenario), withoutLoad(other.Scenario))
}

// withoutLoad is a scenario without its rate and its concurrency.
func withoutLoad(scenario json.RawMessage) []byte {
	var s map[string]any
	if json.Unmarshal(scenario, &s) != nil {
		return scenario
	}
	if workload, ok := s["workload"].(map[string]any); ok {
		if arrival, ok := workload["arrival"].(map[string]any); ok {
			delete(arrival, "rate_per_s")
			delete(arrival, "concurrency")
		}
	}
	text, err := json.Marshal(s) // with its keys in order
	if err != nil {
		return scenario
	}
	return text
}

// Live is the point as a live view shows it.
func (p CurvePoint) Live() record.LivePoint {
	out := record.LivePoint{Load: p.Load, Goodput: math.NaN(), Holds: p.Holds}
	if p.GoodputRPS != nil {
		out.Goodput = *p.GoodputRPS
	}
	return out
}

// Doubt is why the curve says little about the target, empty when it does not: a
// search ended at what could be offered, or a load of a sweep was not offered in any
// of its runs. Failures do not make a curve doubtful: beyond its limit a target may
// well refuse.
func (c *Curve) Doubt() string {
	if why := c.allFailed(); why != "" {
		return why
	}
	if c.Limit != nil && c.Limit.NotOffered {
		return "the limit was not reached: " + c.limitText()
	}
	offered := map[float64]bool{}
	for _, p := range c.Points {
		offered[p.Load] = offered[p.Load] || !p.SearchPoint().NotOffered
	}
	for _, p := range c.Points {
		if !offered[p.Load] && (c.Kind == SweepCurve || c.Limit == nil) {
			return fmt.Sprintf("%s could not be offered: %s", c.LoadText(p.Load), p.Verdict)
		}
	}
	return ""
}

// allFailed is why no point says anything: at every load too many requests failed.
// One that is merely past saturation says where the limit is not.
func (c *Curve) allFailed() string {
	for _, p := range c.Points {
		if p.Verdict != TooManyFailures.String() && p.Verdict != NothingMeasured.String() {
			return ""
		}
	}
	if len(c.Points) == 0 {
		return ""
	}
	return fmt.Sprintf("no run can be trusted; at %s: %s", c.LoadText(c.Points[0].Load), c.Points[0].Verdict)
}

// AssertGoodput checks an assertion on the limit of a search, such as
// goodput >= 10/s, and returns why it does not hold. The limit of a closed loop
// is that many requests in flight, at whose load the goodput is asserted.
func (c *Curve) AssertGoodput(text string) string {
	a, err := ParseAssert(text)
	if err != nil {
		return err.Error()
	}
	value, known := c.maxGoodput()
	switch {
	case !known:
		return fmt.Sprintf("assertion %q does not hold: no load met the objective", a.Text)
	case !a.Holds(value):
		return fmt.Sprintf("assertion %q does not hold: the largest goodput is %s/s", a.Text, units.Number(value))
	}
	return ""
}

// maxGoodput is the largest goodput of a load that meets the objective: the limit
// itself where loads are rates.
func (c *Curve) maxGoodput() (float64, bool) {
	if c.Limit == nil {
		return 0, false
	}
	if c.Axis == search.Rate {
		return c.Limit.Load, true
	}
	best, known := 0.0, false
	for _, p := range c.Points {
		if p.Holds && p.GoodputRPS != nil {
			best, known = max(best, *p.GoodputRPS), true
		}
	}
	return best, known
}
