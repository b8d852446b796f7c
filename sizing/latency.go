package sizing

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// luck is how far the TPOT of a request lies above the mean: the batch that it
// met (Poisson, so its deviation is √B) and the prompts that arrived during its
// life (a compound Poisson sum over its duration, spread over its tokens), as
// independent normal deviations. A request of n tokens that is z deviations
// unlucky has a TPOT of T + √(batch² + prompts/n). Luckier requests than the mean
// are given no credit, which also makes every percentile grow with the load.
type luck struct {
	weight  float64
	mean    float64 // T
	batch   float64 // s
	prompts float64 // s² · tokens
}

func (s state) luck(r replica, weight, z float64) luck {
	if z <= 0 {
		return luck{weight: weight, mean: s.step}
	}
	step := r.decodeStep(s.batch+z*math.Sqrt(s.batch)).Seconds / (1 - s.rate*s.workMean)
	return luck{weight, s.step, step - s.step, z * z * s.rate * s.step * s.workVar}
}

// tpot of a request of n tokens.
func (l luck) tpot(n float64) float64 {
	return l.mean + math.Sqrt(l.batch*l.batch+l.prompts/n)
}

// tokens is the largest n whose n − 1 further tokens take at most d: the root of
// n − 1 = d ÷ tpot(n), which changes so slowly that a few rounds find it.
func (l luck) tokens(d float64) float64 {
	n := 1 + d/l.mean
	if l.batch == 0 && l.prompts == 0 {
		return n
	}
	for range 4 {
		n = 1 + d/l.tpot(n)
	}
	return n
}

// tpotQuantile is the TPOT of requests with the median output.
func (s state) tpotQuantile(r replica, p float64) float64 {
	return s.luck(r, 1, mathext.NormalQuantile(p)).tpot(max(2, r.mix.medianOutput))
}

// e2e is the mean end-to-end latency.
func (s state) e2e(r replica) float64 { return s.ttft() + s.step*(r.mix.output-1) }

// latency is the distribution of end-to-end latency: the first token's time,
// the number of tokens and the luck with the steps are taken as independent.
// The tokens' distribution is exact; each slice of luck is represented by its
// unluckier end, so that no quantile is below what the TPOT quantile implies.
type latency struct {
	firsts  []weighted
	lucks   []luck
	outputs lengths
}

func (s state) latency(r replica) latency {
	l := latency{outputs: r.mix.outputs}
	for _, cut := range cuts(9, 2) {
		l.firsts = append(l.firsts, weighted{cut.weight(), s.ttftQuantile(cut.middle())})
	}
	l.lucks = append(l.lucks, s.luck(r, 0.5, 0))
	for _, cut := range cuts(18, 3) {
		if cut.middle() > 0.5 {
			l.lucks = append(l.lucks, s.luck(r, cut.weight(), mathext.NormalQuantile(min(cut.high, 1-1e-6))))
		}
	}
	return l
}

// below is the share of requests that take at most t.
func (l latency) below(t float64) float64 {
	sum := 0.0
	for _, first := range l.firsts {
		d := t - first.value
		if d < 0 {
			continue
		}
		for _, luck := range l.lucks {
			sum += first.weight * luck.weight * l.outputs.below(luck.tokens(d))
		}
	}
	return sum
}

// quantile inverts the distribution.
func (l latency) quantile(p float64) float64 { return invert(l.below, p, l.firsts[0].value) }
