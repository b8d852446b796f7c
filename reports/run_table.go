package reports

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// RunTable is the metrics of a run as rows of metric, stat and value, for a
// spreadsheet. Metrics are named as in the JSON, with their unit at the end; those
// that are a single number have no stat. What is absent has no row.
func RunTable(r *Report) Table {
	t := metricTable()
	add := func(metric, stat string, v float64) { t.Rows = append(t.Rows, []string{metric, stat, exact(v)}) }
	optional := func(metric string, v *float64) {
		if v != nil {
			add(metric, "", *v)
		}
	}
	for _, m := range r.rows() {
		if d := m.dist; d != nil {
			add(m.key, "p50", d.P50)
			add(m.key, "p90", d.P90)
			add(m.key, "p95", d.P95)
			add(m.key, "p99", d.P99)
			add(m.key, "max", d.Max)
			add(m.key, "n", float64(d.N))
		}
	}
	q := r.Requests
	for _, n := range []struct {
		metric string
		n      int
	}{{"scheduled", q.Scheduled}, {"sent", q.Sent}, {"ok", q.OK}, {"failed", q.Failed}, {"cancelled", q.Cancelled}, {"cut", q.Cut}, {"dropped", q.Dropped}} {
		add("requests", n.metric, float64(n.n))
	}
	a := r.Rates
	optional("offered_rps", a.OfferedRPS)
	optional("sent_rps", a.SentRPS)
	for _, row := range repeatedRows {
		if row.key[len(row.key)-2:] != "_s" || strings.HasSuffix(row.key, "_per_s") { // those are above
			optional(row.key, row.value(r))
		}
	}
	optional("total_tokens_per_s", a.TotalTokensPerS)
	if c := r.Cost; c != nil {
		add("usd_per_hour", "", c.USDPerHour)
		optional("usd_per_1m_output_tokens", c.USDPer1MOutput)
		optional("usd_per_1m_total_tokens", c.USDPer1MTotal)
	}
	return t
}

// RepeatsTable is what runs of the same load have in common, as rows of metric, stat
// and value.
func RepeatsTable(all *Repeats) Table {
	t := metricTable()
	for _, m := range all.Metrics {
		for _, s := range []struct {
			stat string
			v    float64
		}{{"median", m.Median}, {"low", m.Low}, {"high", m.High}, {"confidence", m.Confidence}, {"min", m.Min}, {"max", m.Max}, {"n", float64(m.N)}} {
			t.Rows = append(t.Rows, []string{m.Metric, s.stat, exact(s.v)})
		}
	}
	return t
}

func metricTable() Table {
	return Table{Header: []string{"metric", "stat", "value"}, Right: []bool{false, false, true}}
}

// WriteRunMarkdown writes the metrics of a run for a document.
func WriteRunMarkdown(w io.Writer, r *Report) error {
	var remarks []string
	if v := r.Verdict(); !v.Trustworthy() {
		remarks = append(remarks, "Not trustworthy: "+v.Text)
	}
	for _, warning := range r.Warnings {
		remarks = append(remarks, warning.Text)
	}
	return writeMetrics(w, r, RunTable(r), "", remarks)
}

// WriteRepeatsMarkdown writes what runs of the same load have in common for a
// document.
func WriteRepeatsMarkdown(w io.Writer, all *Repeats) error {
	var remarks []string
	for i, r := range all.Runs {
		if v := r.Verdict(); !v.Trustworthy() {
			remarks = append(remarks, fmt.Sprintf("Run %d is not trustworthy: %s", i+1, v.Text))
		}
	}
	return writeMetrics(w, all.Runs[0], RepeatsTable(all), strconv.Itoa(len(all.Runs))+" runs; ", remarks)
}

func writeMetrics(w io.Writer, r *Report, t Table, runs string, remarks []string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s of %s\n\n%s%s\n\n", r.Kind, inCell.Replace(r.Target.Model), runs, inCell.Replace(r.Asked))
	t.writeMarkdown(&b)
	if len(remarks) > 0 {
		b.WriteString("\n")
	}
	for _, text := range remarks {
		b.WriteString("- " + inCell.Replace(text) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func exact(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
