package sizing

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/profiles"
)

// near compares within a billionth.
func near(t testing.TB, name string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9*math.Max(1, math.Abs(want)) {
		t.Errorf("%s %v, want %v", name, got, want)
	}
}

func profile(t testing.TB, text string) profiles.LoadProfile {
	t.Helper()
	p, err := profiles.LoadLoadProfile(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestArticleOnCost is the arithmetic of a system-design article: $2.50 per hour
// at 2,500 output tokens per second are $0.28 per million, and at a tenth of the
// load, at three in the morning, each token costs ten times more.
func TestArticleOnCost(t *testing.T) {
	full := TokenCost(2.50, 2500)
	if math.Round(full*100)/100 != 0.28 {
		t.Errorf("$%v per 1M at full use, the article has 0.28", full)
	}
	near(t, "at 10% load", TokenCost(2.50, 250), 10*full)
	if TokenCost(2.50, 0) != 0 {
		t.Error("nothing produced has a price per token")
	}

	// The same through a plan: a fleet whose hour at three has a tenth of the peak.
	day := "1,1,1,0.1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"
	p := mustCompute(t, scenario(func(r *Request) {
		r.Scenario.Price.USDPerAcceleratorHour = 2.50
		r.LoadProfile = profile(t, day)
	}))
	rate := 2500 / p.Inputs.OutputTokens // of 2,500 output tokens per second
	scaled := mustCompute(t, scenario(func(r *Request) {
		r.Scenario.Price.USDPerAcceleratorHour = 2.50
		r.Scenario.Workload.Arrival = rps(rate)
		r.LoadProfile = profile(t, day)
	}))
	near(t, "per 1M output tokens", scaled.Fleet.USDPer1MOut, full*float64(scaled.Fleet.Accelerators))
	near(t, "the hour at three", scaled.Day.Hours[3].USDPer1MOut, 10*scaled.Day.Hours[4].USDPer1MOut)
	near(t, "a full hour", scaled.Day.Hours[4].USDPer1MOut, scaled.Fleet.USDPer1MOut)
}

// TestMoneyByHand works a day out: 20 hours of 10% and 4 hours of the peak.
func TestMoneyByHand(t *testing.T) {
	p := mustCompute(t, scenario(func(r *Request) {
		r.Scenario.Workload.Arrival = rps(200)
		r.Scenario.Workload.Input, r.Scenario.Workload.Output = fixed(1000), fixed(250)
		r.Scenario.Price.USDPerAcceleratorHour = 3
		r.LoadProfile = profile(t, "0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,1,1,1,1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1")
		r.APIPrice = profiles.APIPrice{In: 0.1, Cached: 0.1, Out: 0.4}
	}))
	n := float64(p.Fleet.Replicas)
	near(t, "month", p.Fleet.USDPerMonth, 730*3*n)
	near(t, "request", p.Fleet.USDPerRequest, 3*n/(200*3600))
	d := p.Day
	near(t, "mean rate", d.MeanRPS, (20*20+4*200)/24.0)
	near(t, "requests", d.RequestsPerDay, (20*20+4*200)*3600)
	near(t, "utilization", d.MeanUtilization, d.MeanRPS/(n*p.Performance.MaxRPS))
	planned := p.Performance.MaxRPS * p.Inputs.TargetUtilization
	low := math.Ceil(20 / planned)
	near(t, "replica hours", float64(d.ReplicaHours), 20*low+4*n)
	near(t, "fixed day", d.Fixed.USDPerDay, 24*3*n)
	near(t, "autoscaled day", d.Autoscaled.USDPerDay, 3*(20*low+4*n))
	near(t, "per 1M at the average", d.Fixed.USDPer1MOut, 24*3*n/(d.RequestsPerDay*250)*1e6)

	a := p.API
	near(t, "API request", a.USDPerRequest, (1000*0.1+250*0.4)/1e6)
	near(t, "API month", a.USDPerMonth, a.USDPerRequest*d.RequestsPerDay/24*730)
	near(t, "break-even", a.BreakEvenRPS*a.USDPerRequest*3600, p.Fleet.USDPerHour)
	near(t, "break-even utilization", a.BreakEvenUtilization, a.BreakEvenRPS/(n*p.Performance.MaxRPS))
}

// TestBurst tries prices at which each of the three ways must win.
func TestBurst(t *testing.T) {
	for _, tc := range []struct {
		name string
		api  float64 // $ per 1M tokens, in and out
		want func(n, all int) bool
	}{
		{"an API for nearly nothing takes all", 0.0001, func(n, _ int) bool { return n == 0 }},
		{"a dear API takes nothing", 1000, func(n, all int) bool { return n == all }},
		{"between them the base is steady and the peak bursts", 0.15, func(n, all int) bool { return n > 0 && n < all }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := mustCompute(t, scenario(func(r *Request) {
				r.Scenario.Workload.Arrival = rps(200)
				r.LoadProfile = profile(t, "office")
				r.APIPrice = profiles.APIPrice{In: tc.api, Cached: tc.api, Out: tc.api}
			}))
			if n := p.API.Burst.Replicas; !tc.want(n, p.Fleet.Replicas) {
				t.Errorf("base of %d of %d replicas", n, p.Fleet.Replicas)
			}
		})
	}
}

// TestMoneyIsConsistent: autoscaling never costs more than a fixed fleet, base
// and burst never more than either pure way, and no base is cheaper.
func TestMoneyIsConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		day := profiles.LoadProfile{Name: "given", Hours: rapid.SliceOfN(rapid.Float64Range(0, 1), 24, 24).Draw(t, "hours")}
		day.Hours[12] = 1
		api := rapid.Float64Range(0.001, 10).Draw(t, "api")
		p, err := Compute(scenario(func(r *Request) {
			r.Scenario.Workload.Arrival = rps(rapid.Float64Range(0.1, 300).Draw(t, "rps"))
			r.Scenario.Workload.Input, r.Scenario.Workload.Output = fixed(1000), fixed(200)
			r.LoadProfile, r.APIPrice = day, profiles.APIPrice{In: api, Cached: api / 2, Out: 4 * api}
		}))
		if err != nil {
			t.Fatal(err)
		}
		const slack = 1 + 1e-12
		d, b := p.Day, p.API.Burst
		if d.Autoscaled.USDPerDay > d.Fixed.USDPerDay*slack {
			t.Fatalf("autoscaled %v, fixed %v", d.Autoscaled.USDPerDay, d.Fixed.USDPerDay)
		}
		if b.USDPerMonth > p.Fleet.USDPerMonth*slack || b.USDPerMonth > p.API.USDPerMonth*slack {
			t.Fatalf("base and burst %v, fixed %v, API %v", b.USDPerMonth, p.Fleet.USDPerMonth, p.API.USDPerMonth)
		}
		unit, perReplica := p.Fleet.USDPerHour/float64(p.Fleet.Replicas)*24, p.Performance.MaxRPS*p.Inputs.TargetUtilization
		n := rapid.IntRange(0, p.Fleet.Replicas).Draw(t, "base")
		if other := float64(n)*unit + d.overflow(float64(n)*perReplica)*p.API.USDPerRequest; other < b.USDPerDay/slack {
			t.Fatalf("a base of %d costs %v, the best %d costs %v", n, other, b.Replicas, b.USDPerDay)
		}
	})
}

func TestRatesPlanForTheirPeak(t *testing.T) {
	rates := profile(t, "2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,80/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s,2/s")
	p := mustCompute(t, scenario(func(r *Request) { r.LoadProfile = rates }))
	near(t, "planned rate", p.Inputs.RPS, 80)
	near(t, "busiest hour", p.Day.Hours[11].RPS, 80)
	near(t, "mean rate", p.Day.MeanRPS, (23*2+80)/24.0)
	for _, tc := range []struct {
		name    string
		arrival profiles.Arrival
	}{
		{"below the peak", rps(79)},
		{"closed loop", profiles.Arrival{Process: profiles.Closed, Concurrency: 8}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := Compute(scenario(func(r *Request) { r.LoadProfile, r.Scenario.Workload.Arrival = rates, tc.arrival })); err == nil {
				t.Error("accepted")
			}
		})
	}
}

func TestNoPriceNoMoney(t *testing.T) {
	p := mustCompute(t, scenario(func(r *Request) {
		r.Scenario.Accelerator, r.LoadProfile = "a100-pcie-80gb", profile(t, "office")
		r.APIPrice = profiles.APIPrice{In: 1, Cached: 1, Out: 2}
	}))
	if p.Fleet.USDPerMonth != 0 || p.Day.Fixed != (DayCost{}) || p.API.BreakEvenRPS != 0 || p.API.Burst != nil {
		t.Errorf("no price, but %+v, %+v, %+v", p.Fleet, p.Day.Fixed, p.API)
	}
	if p.API.USDPerMonth <= 0 || p.Day.MeanUtilization <= 0 {
		t.Errorf("what needs no price is missing: %+v, %+v", p.API, p.Day)
	}
}
