package sizing

// Day is a day of 24 hours under a load profile: a fleet that is always there
// for the planned load, beside one that has as many replicas in each hour as
// that hour needs. The second is what autoscaling can reach at best: replicas
// that start in no time, an hour known in advance.
type Day struct {
	Profile         string  `json:"profile"`
	Hours           []Hour  `json:"hours"`
	MeanRPS         float64 `json:"mean_rps"`
	RequestsPerDay  float64 `json:"requests_per_day"`
	MeanUtilization float64 `json:"mean_utilization"` // of the fixed fleet's largest rate
	ReplicaHours    int     `json:"replica_hours"`    // of the autoscaled fleet
	Fixed           DayCost `json:"fixed"`
	Autoscaled      DayCost `json:"autoscaled"`
}

// Hour is one hour of the day.
type Hour struct {
	Hour        int     `json:"hour"` // 0 is the first after midnight
	RPS         float64 `json:"rps"`
	Replicas    int     `json:"replicas"`    // needed at the target utilization, at least one, and the spare ones
	Utilization float64 `json:"utilization"` // of the fixed fleet's largest rate
	USDPer1MOut float64 `json:"usd_per_1m_output_tokens,omitempty"`
}

// DayCost is what a day costs, absent without a price. Prices of tokens are
// those of the whole day.
type DayCost struct {
	USDPerDay   float64 `json:"usd_per_day,omitempty"`
	USDPerMonth float64 `json:"usd_per_month,omitempty"` // of 730 hours of such days
	TokenPrices
}

// dayCost spreads the bill of a day over its tokens.
func dayCost(usdPerDay, meanRPS float64, m mix) DayCost {
	return DayCost{
		USDPerDay:   exact(usdPerDay),
		USDPerMonth: exact(usdPerDay / 24 * HoursPerMonth),
		TokenPrices: tokenPrices(usdPerDay/24, meanRPS, m),
	}
}

// hourlyRates are requests per second by hour: shares are of the fleet's load.
func (s *situation) hourlyRates(f *Fleet) []float64 {
	rates := make([]float64, len(s.profile.Hours))
	for i, v := range s.profile.Hours {
		rates[i] = v
		if !s.profile.Rates {
			rates[i] = v * f.RPS
		}
	}
	return rates
}

// day works a profile out for the fleet of a plan.
func (s *situation) day(p *Plan, l load, m mix) *Day {
	f := p.Fleet
	d := &Day{Profile: s.profile.Name}
	largest := float64(f.Replicas) * p.Performance.MaxRPS
	for hour, rate := range s.hourlyRates(f) {
		h := Hour{Hour: hour, RPS: rate, Replicas: min(f.Replicas, atLeastOne(rate/l.perReplica)+f.Spare), Utilization: rate / largest}
		h.USDPer1MOut = TokenCost(f.USDPerHour, rate*m.output)
		d.Hours = append(d.Hours, h)
		d.MeanRPS += rate / 24
		d.ReplicaHours += h.Replicas
	}
	d.RequestsPerDay = d.MeanRPS * 24 * 3600
	d.MeanUtilization = d.MeanRPS / largest
	d.Fixed = dayCost(f.USDPerHour*24, d.MeanRPS, m)
	d.Autoscaled = dayCost(f.USDPerHour/float64(f.Replicas)*float64(d.ReplicaHours), d.MeanRPS, m)
	return d
}
