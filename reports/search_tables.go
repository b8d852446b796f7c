package reports

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/llmctl/llmctl/sizing"
)

// SearchTable is a search for spreadsheets: one row per configuration, those of
// the front first, with the keys of its JSON.
func SearchTable(s *sizing.Search) Table {
	t := Table{Header: []string{
		"status", "accelerator", "tensor_parallel", "pipeline_parallel", "data_parallel", "expert_parallel", "weight_dtype", "kv_dtype", "max_num_seqs", "max_num_batched_tokens",
		"replicas", "accelerators", "max_rps", "bound", "ttft_p99_s", "tpot_p99_s", "user_tokens_per_s", "output_tokens_per_s_per_accelerator",
		"usd_per_hour", "usd_per_1m_output_tokens", "quality_not_judged", "error.relative", "error.low", "error.high", "measured",
		"money.usd_per_month", "money.usd_per_month_autoscaled", "money.api_usd_per_month", "money.cheaper", "reason",
	}}
	shown := map[sizing.Configuration]bool{}
	option := func(status string, o *sizing.Option) {
		if shown[o.Configuration] {
			return
		}
		shown[o.Configuration] = true
		t.Rows = append(t.Rows, slices.Concat([]string{status}, configurationCells(o.Configuration), []string{
			strconv.Itoa(o.Replicas), strconv.Itoa(o.Accelerators), number(o.MaxRPS), o.Bound, number(o.TTFT), number(o.TPOT),
			number(o.UserTokensPS), number(o.TokensPSPerAcc), number(o.USDPerHour), number(o.USDPer1MOut), strings.Join(o.Quality, ", "),
			number(o.Error.Relative), number(o.Error.Low), number(o.Error.High), strconv.FormatBool(o.Measured),
		}, moneyCells(o.Money), []string{""}))
	}
	for i := range s.Front {
		status := "front"
		if i == 0 {
			status = "cheapest"
		}
		option(status, &s.Front[i])
	}
	for i := range s.PerKind {
		option("accelerator", &s.PerKind[i])
	}
	if s.Published != nil {
		option("own", s.Published)
	}
	for i := range s.Unpriced {
		option("unpriced", &s.Unpriced[i])
	}
	for i := range s.Options {
		option("serves", &s.Options[i])
	}
	for _, r := range s.Rejections {
		t.Rows = append(t.Rows, slices.Concat([]string{r.Code}, configurationCells(r.Configuration), make([]string, len(t.Header)-11), []string{r.Reason}))
	}
	return t
}

// configurationCells leave empty what makes no difference.
func configurationCells(c sizing.Configuration) []string {
	cells := []string{c.Accelerator, "", "", "", "", c.WeightDType, c.KVDType, "", ""}
	for i, n := range map[int]int{1: c.TensorParallel, 2: c.PipelineParallel, 3: c.DataParallel, 4: c.ExpertParallel, 7: c.MaxNumSeqs, 8: c.MaxNumBatchedTokens} {
		if n > 0 {
			cells[i] = strconv.Itoa(n)
		}
	}
	return cells
}

func moneyCells(m *sizing.OptionMoney) []string {
	if m == nil {
		return make([]string, 4)
	}
	return []string{number(m.USDPerMonth), number(m.Autoscaled), number(m.API), m.Cheaper}
}

// number writes a value for machines; what is absent stays empty.
func number(v float64) string {
	if v == 0 {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// WriteSearchMarkdown writes a search for a document: the front, what has no
// price, and the reasons of the rest by kind.
func WriteSearchMarkdown(w io.Writer, s *sizing.Search) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", searchTitle(s))
	if !s.Feasible {
		b.WriteString("\nNothing serves this load within the objective.\n")
	}
	for _, c := range winners(s) {
		text := forecastText(s, c.option)
		if c.option.Money != nil {
			text += "; " + moneyText(c.option.Money)
		}
		b.WriteString("\n" + c.title + ":\n\n```sh\n" + c.option.Command + "\n```\n\n" + inCell.Replace(strings.ToUpper(text[:1])+text[1:]) + ".\n")
	}
	section := func(title string, columns []optionColumn, options []sizing.Option) {
		if len(options) > 0 {
			b.WriteString("\n## " + title + "\n\n")
			optionTable(columns, pointers(options), true).writeMarkdown(&b)
		}
	}
	section("Cheapest of each accelerator", perAcceleratorColumns, s.PerKind)
	if none := nothingServes(s); none != "" && s.Feasible {
		b.WriteString("\nNothing serves on " + strings.ReplaceAll(none, glue, " ") + ".\n")
	}
	section("Front", frontColumns, s.Front)
	section("Without a price, by the most output tokens/s per accelerator", unpricedColumns, s.Unpriced)
	all := slices.Concat(pointers(s.PerKind), pointers(s.Front), pointers(s.Unpriced))
	fmt.Fprintf(&b, "\nTTFT and TPOT are 99th percentiles, n is the number of replicas, error is the median distance of the times from measured runs%s. A format marked with \\* has fewer bits than the model is published in; what that does to the answers is not judged here. The engine was never measured on accelerators marked with ?.\n", legendOf(all))
	if groups := groupRejections(s.Rejections); len(groups) > 0 {
		t := Table{Header: []string{"why", "configurations", "accelerators", "for example"}, Right: []bool{false, true, true}}
		for _, g := range groups {
			t.Rows = append(t.Rows, []string{rejectionWords[g.code], strconv.Itoa(g.n), strconv.Itoa(len(g.accelerators)),
				rejectedShape(g.example.Configuration) + ": " + g.example.Reason})
		}
		b.WriteString("\n## Out\n\n")
		t.writeMarkdown(&b)
	}
	for _, warning := range s.Warnings {
		b.WriteString("\nWarning: " + inCell.Replace(warning.Text) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
