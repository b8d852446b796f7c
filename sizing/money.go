package sizing

import (
	"fmt"
	"math"
	"strconv"

	"github.com/llmctl/llmctl/profiles"
)

// HoursPerMonth is a twelfth of a year of 365 days, the month that clouds bill.
const HoursPerMonth = 730

// TokenCost is the price of a million tokens in dollars: price per hour ÷
// tokens per hour × one million. It is 0 when nothing is produced.
func TokenCost(usdPerHour, tokensPerS float64) float64 {
	if tokensPerS <= 0 {
		return 0
	}
	return usdPerHour / (tokensPerS * 3600) * 1e6
}

// exact drops the digits of a sum of money that are rounding alone: those after the
// fourteenth.
func exact(usd float64) float64 {
	v, _ := strconv.ParseFloat(strconv.FormatFloat(usd, 'g', 14, 64), 64) // of its own text
	return v
}

// saved is what one sum is more than another, 0 when they differ by rounding alone.
func saved(usd, instead float64) float64 {
	d := usd - instead
	if math.Abs(d) <= 1e-9*max(usd, instead) {
		return 0
	}
	return exact(d)
}

// TokenPrices are the whole bill divided by one kind of tokens, in dollars per
// million. They say one bill in three ways, and must not be added.
type TokenPrices struct {
	USDPer1MIn  float64 `json:"usd_per_1m_input_tokens,omitempty"`
	USDPer1MOut float64 `json:"usd_per_1m_output_tokens,omitempty"`
	USDPer1M    float64 `json:"usd_per_1m_total_tokens,omitempty"`
}

// tokenPrices divides a bill per hour by the tokens of rate requests per second.
func tokenPrices(usdPerHour, rate float64, m mix) TokenPrices {
	return TokenPrices{
		USDPer1MIn:  TokenCost(usdPerHour, rate*m.input),
		USDPer1MOut: TokenCost(usdPerHour, rate*m.output),
		USDPer1M:    TokenCost(usdPerHour, rate*(m.input+m.output)),
	}
}

// fleet is how many replicas carry the load, with its price.
func (l load) fleet(in Inputs, m mix, maxRate float64) *Fleet {
	f := &Fleet{}
	l.describe(f, in, maxRate)
	f.price(in.USDPerAcceleratorHour, m)
	return f
}

// price fills in what the fleet costs at its load, all 0 without a price.
func (f *Fleet) price(usdPerAcceleratorHour float64, m mix) {
	f.USDPerHour = exact(float64(f.Accelerators) * usdPerAcceleratorHour)
	f.USDPerMonth = exact(f.USDPerHour * HoursPerMonth)
	f.TokenPrices = tokenPrices(f.USDPerHour, f.RPS, m)
	f.USDPerRequest = f.USDPerHour / (f.RPS * 3600)
}

// atPeak makes the peak of a profile of rates the load to plan for, when no
// other load is said. A load beside such a profile is head-room: it must not be
// below the peak.
func (r Request) atPeak() (Request, error) {
	p := r.LoadProfile
	if err := p.Validate(); err != nil {
		return r, fmt.Errorf("--load-profile: %w", err)
	}
	a := &r.Scenario.Workload.Arrival
	switch {
	case !p.Rates:
	case a.Concurrency > 0:
		return r, fmt.Errorf("--load-profile has rates, which contradicts --concurrency %d; give shares of 0 to 1", a.Concurrency)
	case a.RatePerS == 0:
		*a = profiles.Arrival{Process: profiles.Poisson, RatePerS: p.Peak()}
	case a.RatePerS < p.Peak():
		return r, fmt.Errorf("--rps %g is below the %g/s of the busiest hour of --load-profile", a.RatePerS, p.Peak())
	}
	return r, nil
}

// resolveMoney takes over what the plan's money is compared with.
func (s *situation) resolveMoney(r Request) error {
	if err := r.APIPrice.Validate(); err != nil {
		return fmt.Errorf("--api-price: %w", err)
	}
	s.profile, s.api = r.LoadProfile, r.APIPrice
	return nil
}

// compareMoney adds the day and the API to a plan, as far as they are asked for.
func (s *situation) compareMoney(p *Plan, l load, m mix) {
	if s.profile.Said() {
		p.Day = s.day(p, l, m)
	}
	if s.api.Said() {
		p.API = s.compareAPI(p, l, m)
	}
}
