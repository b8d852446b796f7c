package reports

import (
	"fmt"
	"io"
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
	for _, w := range winners(s) {
		writeWinner(&b, s, w)
	}
	writePerAccelerator(&b, s)
	writeFront(&b, s)
	writeUnpriced(&b, s)
	writeErrors(&b, s)
	writePrices(&b, s)
	writeLegend(&b, s)
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

// winner is an option that is the cheapest of some kind.
type winner struct {
	title  string
	option *sizing.Option
}

// winners are the cheapest option, and the cheapest of those whose numbers are
// better known: each once.
func winners(s *sizing.Search) []winner {
	var all []winner
	for _, w := range []winner{
		{cheapestTitle(s), s.Cheapest},
		{"Cheapest on accelerators that the engine was measured on", s.Measured},
		{publishedTitle(s), s.Published},
	} {
		if w.option == nil || len(all) > 0 && w.option.Configuration == s.Cheapest.Configuration {
			continue
		}
		if last := len(all) - 1; last > 0 && all[last].option.Configuration == w.option.Configuration {
			all[last].title += ", and as the model is published"
			continue
		}
		all = append(all, w)
	}
	return all
}

// publishedTitle says when quality as published costs no more.
func publishedTitle(s *sizing.Search) string {
	title := "Cheapest with weights and cache as the model is published"
	if s.Published != nil && s.Cheapest != nil && s.Published.USDPerHour <= s.Cheapest.USDPerHour {
		title += ", for the same price"
	}
	return title
}

func writeWinner(b *strings.Builder, s *sizing.Search, w winner) {
	c := w.option
	b.WriteString("\n" + w.title + "\n")
	paragraph(b, "  ", fmt.Sprintf("%s × %s: %s of %s; weights %s, cache %s; max_num_seqs %d, max_num_batched_tokens %d",
		units.Count(int64(c.Accelerators)), c.Accelerator, count(c.Replicas, "replica"), degrees(c.Configuration),
		c.WeightDType, c.KVDType, c.MaxNumSeqs, c.MaxNumBatchedTokens))
	paragraph(b, "  ", fmt.Sprintf("$%s per hour, $%s per 1M output tokens; TTFT p99 %s, TPOT p99 %s, %s tokens/s per user",
		money(c.USDPerHour), money(c.USDPer1MOut), units.Seconds(c.TTFT), units.Seconds(c.TPOT), units.Number(c.UserTokensPS)))
	paragraph(b, "  ", forecastText(s, c))
	if c.Money != nil {
		paragraph(b, "  ", moneyText(c.Money))
	}
	b.WriteString("\n")
	writeCommand(b, c.Wrapped(planWidth-2))
}

// degrees writes how a replica is spread.
func degrees(c sizing.Configuration) string {
	text := fmt.Sprintf("TP %d, PP %d", c.TensorParallel, c.PipelineParallel)
	if c.DataParallel > 1 {
		text += fmt.Sprintf(", DP %d", c.DataParallel)
	}
	if c.ExpertParallel > 1 {
		text += fmt.Sprintf(", EP %d", c.ExpertParallel)
	}
	return text
}

// forecastText says how far to believe the times of an option.
func forecastText(s *sizing.Search, c *sizing.Option) string {
	if !c.Measured {
		return fmt.Sprintf("not measured: no runs of %s on such accelerators are known; where there are some, forecasts were %s", s.Inputs.Engine, errorText(c.Error))
	}
	return fmt.Sprintf("forecast: on measured runs that took no part in the fit %s", errorText(c.Error))
}

func errorText(e sizing.ModelError) string {
	return fmt.Sprintf("%.0f%% off in the middle, 80%% within ×%.2f to ×%.2f", e.Relative*100, e.Low, e.High)
}

// moneyText compares the bill with what was asked to be compared with.
func moneyText(m *sizing.OptionMoney) string {
	text := fmt.Sprintf("$%s per month", money(m.USDPerMonth))
	if m.Autoscaled > 0 {
		text += fmt.Sprintf(", $%s with as many replicas as each hour of the load profile needs", money(m.Autoscaled))
	}
	if m.API > 0 {
		text += fmt.Sprintf("; the API takes $%s for the same traffic", money(m.API))
		if m.Cheaper == "api" {
			text += ", which is less"
		}
	}
	return text
}
