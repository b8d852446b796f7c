package sizing

import "math"

// API is the same traffic at the price of a hosted API, beside the plan's fleet.
// Per hour and month it is the mean of the day when there is a load profile,
// else the planned load all the time.
type API struct {
	USDPer1MIn           float64 `json:"usd_per_1m_input_tokens"`
	USDPer1MCached       float64 `json:"usd_per_1m_cached_tokens"`
	USDPer1MOut          float64 `json:"usd_per_1m_output_tokens"`
	USDPerRequest        float64 `json:"usd_per_request"`
	USDPerHour           float64 `json:"usd_per_hour"`
	USDPerMonth          float64 `json:"usd_per_month"`
	BreakEvenRPS         float64 `json:"break_even_rps,omitempty"`         // below it, the API is cheaper than the fleet
	BreakEvenUtilization float64 `json:"break_even_utilization,omitempty"` // the same as a share of the fleet's largest rate
	Cheaper              string  `json:"cheaper,omitempty"`                // "self-hosted" or "api", of the two alone
	Burst                *Burst  `json:"burst,omitempty"`
}

// Burst is the cheapest way to serve a day by some replicas that are always
// there, each loaded up to the target utilization, and the API for what is
// beyond. No base is the API alone, and no replica is spare: when one fails, the
// API stands in.
type Burst struct {
	Replicas    int     `json:"base_replicas"`
	BaseRPS     float64 `json:"base_rps"`  // the most that the base takes
	APIShare    float64 `json:"api_share"` // of the requests
	USDPerDay   float64 `json:"usd_per_day"`
	USDPerMonth float64 `json:"usd_per_month"`
	SavedSelf   float64 `json:"saved_usd_per_month_self_hosted"` // against the fixed fleet
	SavedAPI    float64 `json:"saved_usd_per_month_api"`         // against the API alone
}

// compareAPI prices the plan's traffic at the API. Cached tokens are those that
// our own cache would have: an API's may have fewer.
func (s *situation) compareAPI(p *Plan, l load, m mix) *API {
	f, price := p.Fleet, s.api
	a := &API{USDPer1MIn: price.In, USDPer1MCached: price.Cached, USDPer1MOut: price.Out}
	a.USDPerRequest = ((m.input-m.cached)*price.In + m.cached*price.Cached + m.output*price.Out) / 1e6
	rate := f.RPS
	if p.Day != nil {
		rate = p.Day.MeanRPS
	}
	a.USDPerHour = exact(a.USDPerRequest * rate * 3600)
	a.USDPerMonth = exact(a.USDPerRequest * rate * 3600 * HoursPerMonth)
	if f.USDPerHour == 0 {
		return a
	}
	a.BreakEvenRPS = f.USDPerHour / (a.USDPerRequest * 3600)
	a.BreakEvenUtilization = a.BreakEvenRPS / (float64(f.Replicas) * p.Performance.MaxRPS)
	a.Cheaper = "self-hosted"
	if a.USDPerHour < f.USDPerHour {
		a.Cheaper = "api"
	}
	if p.Day != nil {
		a.Burst = cheapestBurst(p, a, l.perReplica)
	}
	return a
}

// cheapestBurst tries every size of the base, of which equally cheap ones the
// smallest wins.
func cheapestBurst(p *Plan, a *API, perReplica float64) *Burst {
	f, d := p.Fleet, p.Day
	best := &Burst{USDPerDay: math.Inf(1)}
	for n := range f.Replicas + 1 {
		overflow := d.overflow(float64(n) * perReplica)
		cost := f.USDPerHour/float64(f.Replicas)*float64(n)*24 + overflow*a.USDPerRequest
		if cost < best.USDPerDay {
			*best = Burst{Replicas: n, BaseRPS: float64(n) * perReplica, APIShare: overflow / d.RequestsPerDay, USDPerDay: cost}
		}
	}
	best.USDPerMonth = exact(best.USDPerDay / 24 * HoursPerMonth)
	best.USDPerDay = exact(best.USDPerDay)
	best.SavedSelf = saved(f.USDPerMonth, best.USDPerMonth)
	best.SavedAPI = saved(a.USDPerMonth, best.USDPerMonth)
	return best
}

// overflow is how many requests of the day come above a rate. Within an hour the
// rate is taken as steady.
func (d *Day) overflow(rate float64) float64 {
	sum := 0.0
	for _, h := range d.Hours {
		sum += max(0, h.RPS-rate) * 3600
	}
	return sum
}
