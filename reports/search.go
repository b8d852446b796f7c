package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// frontRows is how many rows of the front a person is shown.
const frontRows = 12

// WriteSearch writes a search for a person: the cheapest configuration with the
// command that plans it, what else is worth its price, and why the rest is out.
func WriteSearch(w io.Writer, s *sizing.Search) error {
	var b strings.Builder
	paragraph(&b, "", searchTitle(s))
	if !s.Feasible {
		b.WriteString("\nNothing serves this load within the objective.\n")
	}
	if c := s.Cheapest; c != nil {
		writeWinner(&b, cheapestTitle(s), c)
		if own := s.Published; own != nil && own.Configuration != c.Configuration {
			writeWinner(&b, "Cheapest with weights and cache as the model is published", own)
		}
	}
	writeFront(&b, s)
	writeUnpriced(&b, s)
	writePrices(&b, s)
	writeQuality(&b, s)
	writeRejected(&b, s)
	if len(s.Warnings) > 0 {
		b.WriteString("\nWarnings; each plan has more\n")
		for _, warning := range s.Warnings {
			paragraph(&b, "  - ", warning.Text)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cheapestTitle says what the cheapest option is.
func cheapestTitle(s *sizing.Search) string {
	if len(s.Inputs.SLO.Relaxed) > 0 {
		return "Cheapest; nothing meets the default objective, this is for the nearest"
	}
	return "Cheapest that meets the objective"
}

func searchTitle(s *sizing.Search) string {
	in := s.Inputs
	title := fmt.Sprintf("%s with %s", in.Model, in.Engine)
	switch {
	case in.RPS > 0:
		title += fmt.Sprintf(", %s/s of %s", units.Of(in.RPS, "request"), in.Workload)
	case in.Concurrency > 0:
		title += fmt.Sprintf(", %s of %s in flight", count(in.Concurrency, "request"), in.Workload)
	default:
		title += ", one replica loaded with " + in.Workload
	}
	if objective := objectiveText(in.SLO); objective != "" {
		title += ", " + objective
	}
	return fmt.Sprintf("%s: %s tried on %s, %s serve it", title, count(s.Tried, "configuration"),
		count(len(in.Accelerators), "accelerator"), units.Count(int64(len(s.Options))))
}

// objectiveText writes an objective in a line.
func objectiveText(s sizing.SLO) string {
	var parts []string
	for _, c := range []struct {
		name  string
		bound float64
	}{{"TTFT", s.TTFT}, {"TPOT", s.TPOT}, {"E2E", s.E2E}} {
		if c.bound > 0 {
			parts = append(parts, fmt.Sprintf("%s ≤ %s", c.name, units.Seconds(c.bound)))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return fmt.Sprintf("p%g %s", s.Attainment*100, strings.Join(parts, ", "))
}

func writeWinner(b *strings.Builder, title string, c *sizing.Option) {
	b.WriteString("\n" + title + "\n")
	paragraph(b, "  ", fmt.Sprintf("%s × %s: %s of TP %d, PP %d; weights %s, cache %s; max_num_seqs %d, max_num_batched_tokens %d",
		units.Count(int64(c.Accelerators)), c.Accelerator, count(c.Replicas, "replica"), c.TensorParallel, c.PipelineParallel,
		c.WeightDType, c.KVDType, c.MaxNumSeqs, c.MaxNumBatchedTokens))
	paragraph(b, "  ", fmt.Sprintf("$%s per hour, $%s per 1M output tokens; TTFT p99 %s, TPOT p99 %s, %s tokens/s per user",
		money(c.USDPerHour), money(c.USDPer1MOut), units.Seconds(c.TTFT), units.Seconds(c.TPOT), units.Number(c.UserTokensPS)))
	b.WriteString("\n")
	writeCommand(b, c.Wrapped(planWidth-2))
}

// optionHead are the columns of a table of options, optionRow its cells. Times
// are in milliseconds, so that a row fits into a line.
var (
	optionHead  = []string{"replica", "weights/KV", "batch", "n", "$/1M out", "TTFT", "TPOT", "tok/s"}
	optionRight = []bool{false, false, true, true, true, true, true, true}
)

func optionRow(o *sizing.Option) []string {
	price := ""
	if o.USDPer1MOut > 0 {
		price = money(o.USDPer1MOut)
	}
	return []string{
		replicaShape(o.Configuration), formats(o), fmt.Sprintf("%d/%dk", o.MaxNumSeqs, o.MaxNumBatchedTokens/1024), units.Count(int64(o.Replicas)),
		price, units.Number(o.TTFT * 1e3), units.Number(o.TPOT * 1e3), units.Number(o.UserTokensPS),
	}
}

// unpricedHead are the columns of options without a price.
var (
	unpricedHead  = []string{"replica", "weights/KV", "n", "max/acc", "TTFT", "TPOT", "tok/s"}
	unpricedRight = []bool{false, false, true, true, true, true, true}
)

func unpricedRow(o *sizing.Option) []string {
	row := optionRow(o)
	return slices.Concat(row[:2], []string{row[3], units.Number(o.TokensPSPerAcc)}, row[5:])
}

// replicaShape is what one replica stands on: 4×h100-sxm-80gb.
func replicaShape(c sizing.Configuration) string {
	shape := shortName(c.Accelerator, 17)
	switch n := c.TensorParallel; {
	case c.PipelineParallel > 1:
		return fmt.Sprintf("%d·%d×%s", n, c.PipelineParallel, shape)
	case n > 1:
		return fmt.Sprintf("%d×%s", n, shape)
	}
	return shape
}

// formats marks those whose effect on quality is not judged.
func formats(o *sizing.Option) string {
	weights, cache := o.WeightDType, o.KVDType
	for _, reduced := range o.Quality {
		if strings.HasSuffix(reduced, "weights") {
			weights += "*"
		} else {
			cache += "*"
		}
	}
	return weights + "/" + cache
}

func writeFront(b *strings.Builder, s *sizing.Search) {
	if len(s.Front) == 0 {
		return
	}
	b.WriteString("\nWorth their price: better in cost, TTFT, TPOT (p99 in ms) or tokens/s per user\n")
	t := Table{Indent: 2, Header: optionHead, Right: optionRight}
	for _, i := range evenly(len(s.Front), frontRows) {
		t.Rows = append(t.Rows, optionRow(&s.Front[i]))
	}
	writeTable(b, t)
	if more := len(s.Front) - len(t.Rows); more > 0 {
		paragraph(b, "  ", fmt.Sprintf("and %d between these, all in -o csv and -o json", more))
	}
	paragraph(b, "  ", "n is the number of replicas, batch is max_num_seqs/max_num_batched_tokens, 2·4×a is TP 2 by PP 4.")
}

// evenly is at most k of the numbers 0 to n − 1, ends included.
func evenly(n, k int) []int {
	var at []int
	for i := range min(n, k) {
		if n <= k {
			at = append(at, i)
		} else {
			at = append(at, i*(n-1)/(k-1))
		}
	}
	return at
}

func writeUnpriced(b *strings.Builder, s *sizing.Search) {
	if len(s.Unpriced) == 0 {
		return
	}
	b.WriteString("\nNo price is known (--price); by the most output tokens/s per accelerator\n")
	t := Table{Indent: 2, Header: unpricedHead, Right: unpricedRight}
	for i := range s.Unpriced {
		t.Rows = append(t.Rows, unpricedRow(&s.Unpriced[i]))
	}
	writeTable(b, t)
}

// writePrices says whose prices the order rests on.
func writePrices(b *strings.Builder, s *sizing.Search) {
	if len(s.Prices) == 0 {
		return
	}
	b.WriteString("\n")
	var sources []string // each with the accelerators that it prices
	prices := map[string][]string{}
	for _, p := range s.Prices {
		source := p.Source
		if p.Date != "" {
			source += ", " + p.Date
		}
		if prices[source] == nil {
			sources = append(sources, source)
		}
		prices[source] = append(prices[source], fmt.Sprintf("%s $%s", p.Accelerator, money(p.USDPerHour)))
	}
	for _, source := range sources {
		paragraph(b, "  ", fmt.Sprintf("per accelerator and hour: %s (%s)", list(prices[source], ", "), source))
	}
}

func writeQuality(b *strings.Builder, s *sizing.Search) {
	reduced := func(o sizing.Option) bool { return len(o.Quality) > 0 }
	if slices.ContainsFunc(s.Front, reduced) || slices.ContainsFunc(s.Unpriced, reduced) {
		b.WriteString("\n")
		paragraph(b, "  ", "* fewer bits than the model is published in. What that does to the answers is not judged here: measure it, or keep to --weight-dtype and --kv-dtype.")
	}
}

// rejectionWords say in short what the codes of rejections mean.
var rejectionWords = map[string]string{
	"no-rate": "no bf16 rate in the data", "parallel": "the model can not be divided so", "memory": "does not fit into memory",
	"slo": "a lone request breaks the objective", "refused": "refused",
}

// rejectionGroup is what is wrong with several configurations, and one of them.
type rejectionGroup struct {
	code         string
	n            int
	accelerators map[string]bool
	example      sizing.Rejection
}

// groupRejections groups by what is wrong, the most frequent first.
func groupRejections(rejections []sizing.Rejection) []*rejectionGroup {
	var groups []*rejectionGroup
	for _, r := range rejections {
		i := slices.IndexFunc(groups, func(g *rejectionGroup) bool { return g.code == r.Code })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &rejectionGroup{code: r.Code, accelerators: map[string]bool{}, example: r})
		}
		groups[i].n += r.Configurations
		groups[i].accelerators[r.Accelerator] = true
	}
	slices.SortStableFunc(groups, func(a, b *rejectionGroup) int { return b.n - a.n })
	return groups
}

func writeRejected(b *strings.Builder, s *sizing.Search) {
	groups := groupRejections(s.Rejections)
	if len(groups) == 0 {
		return
	}
	b.WriteString("\nOut; each with its reason in -o csv and -o json\n")
	for _, g := range groups {
		paragraph(b, "  ", fmt.Sprintf("%s: %s, on %s", units.Count(int64(g.n)), rejectionWords[g.code], count(len(g.accelerators), "accelerator")))
		paragraph(b, "    ", fmt.Sprintf("e.g. %s: %s", rejectedShape(g.example.Configuration), g.example.Reason))
	}
}

// rejectedShape names a configuration as far as it matters to its rejection.
func rejectedShape(c sizing.Configuration) string {
	if c.TensorParallel == 0 {
		return c.Accelerator
	}
	return strings.TrimSuffix(replicaShape(c)+" "+c.WeightDType, " ")
}
