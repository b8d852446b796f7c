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
		"status", "accelerator", "tensor_parallel", "pipeline_parallel", "weight_dtype", "kv_dtype", "max_num_seqs", "max_num_batched_tokens",
		"replicas", "accelerators", "max_rps", "bound", "ttft_p99_s", "tpot_p99_s", "user_tokens_per_s", "output_tokens_per_s_per_accelerator",
		"usd_per_hour", "usd_per_1m_output_tokens", "quality_not_judged", "reason",
	}}
	shown := map[sizing.Configuration]bool{}
	option := func(status string, o *sizing.Option) {
		shown[o.Configuration] = true
		t.Rows = append(t.Rows, slices.Concat([]string{status}, configurationCells(o.Configuration), []string{
			strconv.Itoa(o.Replicas), strconv.Itoa(o.Accelerators), number(o.MaxRPS), o.Bound, number(o.TTFT), number(o.TPOT),
			number(o.UserTokensPS), number(o.TokensPSPerAcc), number(o.USDPerHour), number(o.USDPer1MOut), strings.Join(o.Quality, ", "), "",
		}))
	}
	for i := range s.Front {
		status := "front"
		if i == 0 {
			status = "cheapest"
		}
		option(status, &s.Front[i])
	}
	for i := range s.Unpriced {
		option("unpriced", &s.Unpriced[i])
	}
	for i := range s.Options {
		if !shown[s.Options[i].Configuration] {
			option("serves", &s.Options[i])
		}
	}
	for _, r := range s.Rejections {
		t.Rows = append(t.Rows, slices.Concat([]string{r.Code}, configurationCells(r.Configuration), make([]string, 11), []string{r.Reason}))
	}
	return t
}

// configurationCells leave empty what makes no difference.
func configurationCells(c sizing.Configuration) []string {
	cells := []string{c.Accelerator, "", "", c.WeightDType, c.KVDType, "", ""}
	for i, n := range map[int]int{1: c.TensorParallel, 2: c.PipelineParallel, 5: c.MaxNumSeqs, 6: c.MaxNumBatchedTokens} {
		if n > 0 {
			cells[i] = strconv.Itoa(n)
		}
	}
	return cells
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
	if c := s.Cheapest; c != nil && c.Command != "" {
		b.WriteString("\n" + cheapestTitle(s) + ":\n\n```sh\n" + c.Command + "\n```\n")
	}
	if len(s.Front) > 0 {
		t := Table{Header: optionHead, Right: optionRight}
		for i := range s.Front {
			t.Rows = append(t.Rows, optionRow(&s.Front[i]))
		}
		b.WriteString("\n## Front\n\n")
		t.writeMarkdown(&b)
	}
	if len(s.Unpriced) > 0 {
		t := Table{Header: unpricedHead, Right: unpricedRight}
		for i := range s.Unpriced {
			t.Rows = append(t.Rows, unpricedRow(&s.Unpriced[i]))
		}
		b.WriteString("\n## Without a price\n\nBy max/acc, the most output tokens/s per accelerator.\n\n")
		t.writeMarkdown(&b)
	}
	b.WriteString("\nTTFT and TPOT are 99th percentiles in milliseconds. A format marked with \\* has fewer bits than the model is published in; what that does to the answers is not judged here.\n")
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
