package profiles

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// drawScenario draws a scenario of the whole grammar, files left unread.
func drawScenario(t *rapid.T) Scenario {
	text := rapid.SampledFrom([]string{"", "llama-3.1-8b", "org/Name-1", "no", "1.0", "a: b"})
	s := Scenario{Model: text.Draw(t, "model"), Accelerator: text.Draw(t, "accelerator"), Engine: text.Draw(t, "engine")}
	s.Parallel.Tensor = rapid.IntRange(0, 8).Draw(t, "tensor")
	if rapid.Bool().Draw(t, "workload") {
		s.Workload = drawWorkload(t)
	}
	for range rapid.IntRange(0, 2).Draw(t, "further workloads") {
		also := drawWorkload(t)
		if also.checkLoad() != nil {
			also.Arrival = Arrival{Process: Users, Count: 2}
		}
		s.Also = append(s.Also, also)
	}
	if rapid.Bool().Draw(t, "serving") {
		s.Serving = drawServing(t)
	}
	if rapid.Bool().Draw(t, "cluster") {
		s.Cluster = drawCluster(t)
	}
	drawSlots(t, &s.Run)
	if s.Run.Requests > 0 {
		s.Run.Duration = 0
	}
	for i := range rapid.IntRange(0, 2).Draw(t, "objectives") {
		s.SLO = append(s.SLO, SLO{Class: fmt.Sprintf("class-%d", i), TTFT: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "ttft")),
			Attainment: rapid.Float64Range(0.5, 1).Draw(t, "attainment")})
	}
	if rapid.Bool().Draw(t, "price") {
		s.Price.USDPerAcceleratorHour = rapid.Float64Range(0.01, 100).Draw(t, "usd")
	}
	return s
}

func drawWorkload(t *rapid.T) Workload {
	w := Workload{
		Name: rapid.SampledFrom([]string{"custom", "mine"}).Draw(t, "name"), Arrival: drawArrival(t), Cancel: drawCancel(t),
		Tools: rapid.Float64Range(0, 1).Draw(t, "tools"), Schema: rapid.Float64Range(0, 1).Draw(t, "schema"),
		Classes: drawShares(t, "interactive", "batch", "b-1"), Models: drawShares(t, "org/Model-8B:free", "m", "1.0"),
	}
	if w.Tenants = rapid.IntRange(0, 50).Draw(t, "tenants"); w.Tenants == 0 {
		w.Tenant = rapid.SampledFrom([]string{"", "abuser", "no"}).Draw(t, "tenant")
	}
	if w.Arrival.Process == TraceArrival || rapid.IntRange(0, 4).Draw(t, "trace") == 0 {
		w.Trace = Trace{File: rapid.SampledFrom([]string{"x.csv", "a b/ü.jsonl", "no"}).Draw(t, "file"),
			Format: rapid.SampledFrom(append([]string{""}, TraceFormats...)).Draw(t, "format")}
		return w
	}
	w.Input, w.Output = drawLengths(t, 1e6), drawLengths(t, 1e6)
	if rapid.Bool().Draw(t, "turns") {
		w.Session.Turns = drawLengths(t, 40)
	}
	if !w.Session.Single() || w.Arrival.Process == Users {
		w.Session.Think = drawDelay(t)
	}
	if rapid.Bool().Draw(t, "prefix") {
		w.Prefix = Prefix{Groups: rapid.IntRange(1, 99).Draw(t, "groups"), Tokens: rapid.IntRange(1, 9999).Draw(t, "shared"),
			Popularity: rapid.Float64Range(0, 3).Draw(t, "popularity")}
	}
	return w
}

func drawShares(t *rapid.T, first, second, third string) map[string]float64 {
	switch rapid.IntRange(0, 2).Draw(t, "shares") {
	case 0:
		return nil
	case 1:
		return map[string]float64{first: 1}
	}
	a := rapid.Float64Range(0.01, 0.5).Draw(t, "share")
	return map[string]float64{first: a, second: 0.4, third: 1 - a - 0.4}
}

func drawLengths(t *rapid.T, limit float64) Distribution {
	mean := rapid.Float64Range(1, limit).Draw(t, "mean")
	switch rapid.SampledFrom(countKinds).Draw(t, "kind") {
	case string(Uniform):
		return Distribution{Kind: Uniform, Min: mean, Max: mean * rapid.Float64Range(1, 10).Draw(t, "width")}
	case string(Normal):
		return Distribution{Kind: Normal, Mean: mean, StdDev: rapid.Float64Range(0, limit).Draw(t, "deviation")}
	case string(Lognormal):
		return Distribution{Kind: Lognormal, Mean: mean, P99: mean * rapid.Float64Range(1, 10).Draw(t, "tail")}
	case string(Zipf):
		low := rapid.IntRange(1, int(limit)).Draw(t, "min")
		return Distribution{Kind: Zipf, Exponent: rapid.Float64Range(0, 5).Draw(t, "exponent"), Min: float64(low), Max: float64(low + rapid.IntRange(0, 1000).Draw(t, "range"))}
	case string(Geometric):
		return Distribution{Kind: Geometric, Mean: mean}
	case string(Empirical):
		if rapid.Bool().Draw(t, "from a file") {
			return Distribution{Kind: Empirical, Samples: &Samples{File: "dir/lengths.txt"}}
		}
		values := rapid.SliceOfN(rapid.Float64Range(1, limit), 1, 9).Draw(t, "values")
		slices.Sort(values)
		return Distribution{Kind: Empirical, Samples: &Samples{Values: values}}
	}
	return Distribution{Kind: Fixed, Mean: mean}
}

func drawTime(t *rapid.T, label string) time.Duration {
	return time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, label))
}

func drawDelay(t *rapid.T) Delay {
	mean := drawTime(t, "mean time")
	switch rapid.SampledFrom(append([]string{""}, delayKinds...)).Draw(t, "kind of delay") {
	case string(Fixed):
		return Delay{Kind: Fixed, Mean: mean}
	case string(Uniform):
		return Delay{Kind: Uniform, Min: mean, Max: mean + drawTime(t, "width")}
	case string(Normal):
		return Delay{Kind: Normal, Mean: mean, StdDev: drawTime(t, "deviation")}
	case string(Lognormal):
		return Delay{Kind: Lognormal, Mean: mean, P99: mean * time.Duration(rapid.IntRange(1, 10).Draw(t, "tail"))}
	case string(Exponential):
		return Delay{Kind: Exponential, Mean: mean}
	}
	return Delay{}
}

func drawCancel(t *rapid.T) Cancel {
	after := drawDelay(t)
	if after == (Delay{}) {
		return Cancel{}
	}
	return Cancel{Fraction: rapid.Float64Range(0.001, 1).Draw(t, "fraction"), After: after}
}

func drawArrival(t *rapid.T) Arrival {
	rate := func(label string) float64 { return rapid.Float64Range(0.01, 1e4).Draw(t, label) }
	cv := rapid.SampledFrom([]float64{0, 0.5, 1, 3}).Draw(t, "cv")
	ramp := rapid.SampledFrom([]time.Duration{0, 30 * time.Second}).Draw(t, "ramp")
	switch process := ArrivalProcess(rapid.SampledFrom(append([]string{""}, processes...)).Draw(t, "process")); process {
	case Constant, Poisson:
		return Arrival{Process: process, RatePerS: rapid.SampledFrom([]float64{0, rate("rate")}).Draw(t, "said")}
	case Gamma:
		return Arrival{Process: process, RatePerS: rate("rate"), CV: cv + 0.1}
	case Ramp:
		return Arrival{Process: process, FromPerS: rate("from") - 0.01, ToPerS: rate("to"), Over: drawTime(t, "over"), CV: cv}
	case Steps:
		c := &Curve{}
		for range rapid.IntRange(0, 5).Draw(t, "steps") {
			c.Steps = append(c.Steps, Step{rate("rate") - 0.01, drawTime(t, "for")})
		}
		c.Steps = append(c.Steps, Step{RatePerS: rate("rate")})
		return Arrival{Process: process, Curve: c, CV: cv}
	case Sine:
		mean := rate("rate")
		return Arrival{Process: process, RatePerS: mean, AmplitudePerS: mean * rapid.Float64Range(0.01, 1).Draw(t, "amplitude"), Period: drawTime(t, "period"), CV: cv}
	case TraceArrival:
		return Arrival{Process: process, Speed: cv}
	case Closed:
		return Arrival{Process: process, Concurrency: rapid.IntRange(1, 100).Draw(t, "concurrency"), RampUp: ramp}
	case Users:
		return Arrival{Process: process, Count: rapid.IntRange(1, 100).Draw(t, "count"), RampUp: ramp}
	}
	return Arrival{}
}
