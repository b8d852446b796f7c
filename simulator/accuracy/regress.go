package accuracy

import "fmt"

// reached are the medians of the figures that miss their bar, by group and metric, as
// docs/simulator-accuracy.md has had them; the page says why.
var reached = map[[2]string]float64{
	{"closed loops, InferenceX", "ttft"}:           0.167,
	{"closed loops, other sources", "tpot"}:        0.150,
	{"closed loops, other sources", "tpot median"}: 0.492,
	{"closed loops, other sources", "ttft"}:        0.432,
	{"closed loops, other sources", "ttft median"}: 0.846,
	{"closed loops, other sources", "ttft p99"}:    0.404,
	{"open loops, traces", "tpot"}:                 0.233,
	{"open loops, traces", "tpot median"}:          0.238,
	{"open loops, traces", "ttft"}:                 0.311,
	{"open loops, traces", "ttft median"}:          0.305,
	{"open loops, traces", "ttft p99"}:             0.300,
}

// slack is how much further off than its bar, or than what was reached, a group may
// become before that counts as a fault and not as chance.
const slack = 1.2

// Regressions are the groups of the built-in data that are further off than they may
// become, in words.
func (c Compared) Regressions() (out []string) {
	for _, g := range c.Groups() {
		most := slack * max(g.Bar, reached[[2]string{g.Name, g.Metric}])
		if g.Name == saturatedGroup {
			most = saturationBar
		}
		if most > 0 && g.Tested && g.Median > most {
			out = append(out, fmt.Sprintf("%s, %s: off by %s in the median, at most %s is known of", g.Name, g.Metric, percent(g.Median), percent(most)))
		}
	}
	return out
}
