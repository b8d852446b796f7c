package accuracy

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	plan "github.com/llmctl/llmctl/sizing/accuracy"
	"github.com/llmctl/llmctl/sizing/cost"
)

// Figure is one measured figure of a row and its simulation.
type Figure struct {
	Row, Subject string
	Column       string
	Group        string
	Load         float64
	Lengths      string  // mean prompt and output, tokens
	Closed       bool    // loop
	Measured     float64 // milliseconds, or tokens per second
	Simulated    float64
	Held         bool // with constants from a fit that did not see the row's model at this load; else the shipped ones
	Tested       bool // the table says that the figure may be tested
}

// Error is |simulated ÷ measured − 1|.
func (f Figure) Error() float64 { return math.Abs(f.Simulated/f.Measured - 1) }

// Compared is all that was simulated.
type Compared struct {
	Figures []Figure
	Left    []plan.Exclusion // rows that were not simulated, and why
}

// Compare simulates all rows of the data, on all cores.
func Compare(ctx context.Context, d plan.Data) (Compared, error) {
	var out Compared
	runs, left, err := plan.Runs(d)
	if err != nil {
		return out, err
	}
	out.Left = left
	held, err := plan.HeldOut(d, false)
	if err != nil {
		return out, err
	}
	results := make([]result, len(runs))
	var workers sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				results[i] = compare(ctx, runs[i], held)
			}
		})
	}
	for i := range runs {
		next <- i
	}
	close(next)
	workers.Wait()
	if err := context.Cause(ctx); err != nil {
		return out, err
	}
	for i, r := range results {
		if r.left != "" {
			out.Left = append(out.Left, plan.Exclusion{ID: runs[i].ID, Subject: runs[i].Subject, Reason: r.left})
		}
		out.Figures = append(out.Figures, r.figures...)
	}
	return out, nil
}

// result is what came of one row.
type result struct {
	figures []Figure
	left    string
}

func compare(ctx context.Context, r plan.Run, held map[string]cost.Entry) result {
	m, ok := methodOf(r)
	if !ok {
		return result{left: fmt.Sprintf("%s: no load of clients or arrivals is stated", r.Kind)}
	}
	e, isHeld := held[r.ID]
	simulated, err := simulate(ctx, r, m, constants(m, e, isHeld))
	if err != nil {
		return result{left: err.Error()}
	}
	var out result
	w := r.Request.Scenario.Workload
	for _, measured := range []map[string]float64{r.Measured, r.Shown} {
		for _, column := range slices.Sorted(maps.Keys(measured)) {
			if m.inner && column == "output_tok_s" {
				continue
			}
			_, tested := r.Measured[column]
			out.figures = append(out.figures, Figure{
				Row: r.ID, Subject: r.Subject, Column: column, Group: m.group, Load: r.Load,
				Lengths: fmt.Sprintf("%g/%g", w.Input.Mean, w.Output.Mean), Closed: strings.HasPrefix(r.Kind, "concurrency"),
				Measured: measured[column], Simulated: simulated[column], Held: isHeld, Tested: tested,
			})
		}
	}
	return out
}

// constants are the entries to simulate a row with; none are the shipped ones.
func constants(m method, e cost.Entry, held bool) []cost.Entry {
	if !held {
		return nil
	}
	if m.inner {
		e.Constants = maps.Clone(e.Constants)
		e.Constants["request_us"] = 0
	}
	return []cost.Entry{e}
}

// Group sums up the figures of one kind in one group.
type Group struct {
	Name, Metric string
	N            int
	Median       float64 // of the errors
	Within       float64 // share of the errors that are at most Bar
	Bar          float64 // 0: none
	Tested       bool
}

// Holds reports whether the group's median error is within its bar; a group without
// one holds.
func (g Group) Holds() bool { return g.Bar == 0 || !g.Tested || g.Median <= g.Bar }

// bars are the largest errors by what a column measures.
var bars = map[string]float64{"ttft": 0.15, "ttft median": 0.15, "ttft p99": 0.30, "tpot": 0.15, "tpot median": 0.15}

// metric is what a column measures; without a word it is the mean, which is also
// taken where a row does not say which statistic it states.
func metric(column string) string { return metrics[column] }

var metrics = map[string]string{
	"ttft_ms_mean": "ttft", "ttft_ms_median": "ttft median", "ttft_ms_p99": "ttft p99",
	"tpot_ms_mean": "tpot", "tpot_ms_median": "tpot median", "tpot_ms_p99": "tpot p99",
	"e2e_ms_mean": "e2e", "e2e_ms_p99": "e2e p99", "output_tok_s": "output tokens/s",
}

// Groups sums the figures up.
func (c Compared) Groups() []Group {
	type key struct {
		group, metric string
		tested        bool
	}
	sets := map[key][]Figure{}
	for _, f := range c.Figures {
		k := key{f.Group, metric(f.Column), f.Tested}
		sets[k] = append(sets[k], f)
	}
	var out []Group
	for k, figures := range sets {
		g := Group{Name: k.group, Metric: k.metric, N: len(figures), Bar: bars[k.metric], Tested: k.tested}
		var errors []float64
		for _, f := range figures {
			errors = append(errors, f.Error())
			if f.Error() <= g.Bar {
				g.Within++
			}
		}
		g.Within /= float64(g.N)
		g.Median = median(errors)
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Metric, b.Metric))
	})
	return out
}

func median(values []float64) float64 {
	v := slices.Sorted(slices.Values(values))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
