package sizing

// OptionMoney is what an option costs in a month, beside what it is compared with.
type OptionMoney struct {
	USDPerMonth float64 `json:"usd_per_month,omitempty"` // of 730 hours of the fixed fleet
	Autoscaled  float64 `json:"usd_per_month_autoscaled,omitempty"`
	API         float64 `json:"api_usd_per_month,omitempty"`
	Cheaper     string  `json:"cheaper,omitempty"` // "self-hosted" or "api", as in a plan
}

// compared is the money of a plan that has a load profile or the price of an API.
func (p *Plan) compared() *OptionMoney {
	if p.Day == nil && p.API == nil {
		return nil
	}
	m := &OptionMoney{USDPerMonth: p.Fleet.USDPerMonth}
	if p.Day != nil {
		m.Autoscaled = p.Day.Autoscaled.USDPerMonth
	}
	if p.API != nil {
		m.API, m.Cheaper = p.API.USDPerMonth, p.API.Cheaper
	}
	return m
}
