package reports

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/reports/stats"
)

// TextOptions are how a report is drawn.
type TextOptions struct {
	Color bool
	Width int // columns to wrap at; 0 means 80
}

// WriteText writes the report for a person: whether it can be trusted, what was
// asked, what happened, and what to know before believing it. The text depends
// on nothing but its arguments.
func WriteText(w io.Writer, r *Report, opts TextOptions) error {
	p := newPage(opts)
	p.verdict(r)
	p.asked(r)
	p.happened(r)
	p.latencies(r)
	p.slo(r)
	p.histograms(r)
	p.series(r.Timeline)
	p.target(r)
	p.client(r)
	p.asserts(r)
	p.warnings(r)
	if r.Experiment != nil {
		p.line("")
		p.experiment(r.Experiment)
	}
	_, err := w.Write(append(bytes.TrimRight(p.out.Bytes(), "\n"), '\n'))
	return err
}

// labelWidth is the width of the first column of a report.
const labelWidth = 10

// page is a text being written.
type page struct {
	out   bytes.Buffer
	width int
	color bool
}

func newPage(opts TextOptions) *page {
	p := &page{width: opts.Width, color: opts.Color}
	if p.width == 0 {
		p.width = 80
	}
	p.width = max(p.width, 40)
	return p
}

// Styles of the text report, as SGR parameters: only the eight colours that
// every terminal and theme has.
const (
	bold   = "1"
	faint  = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
)

func (p *page) paint(style, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + style + "m" + s + "\x1b[m"
}

func (p *page) line(s string) { p.out.WriteString(strings.TrimRight(s, " ") + "\n") }

// field writes a label and a text that is wrapped beside it.
func (p *page) field(label, text string) {
	p.out.WriteString(p.paint(faint, label) + strings.Repeat(" ", max(labelWidth-ansi.StringWidth(label), 1)))
	for i, line := range wrap(text, p.width-labelWidth) {
		if i > 0 {
			p.out.WriteString(strings.Repeat(" ", labelWidth))
		}
		p.line(line)
	}
}

// mark is ✓ or ✗, or · where nothing can be said.
func (p *page) mark(ok *bool) string {
	switch {
	case ok == nil:
		return "·"
	case *ok:
		return p.paint(green, "✓")
	default:
		return p.paint(red, "✗")
	}
}

// verdict leads with what makes the numbers doubtful.
func (p *page) verdict(r *Report) {
	v := r.Verdict()
	switch {
	case !v.Trustworthy():
		p.field("", p.paint(red, "✗ NOT TRUSTWORTHY")+"  "+v.Text)
	case v.Reason == Interrupted:
		p.field("", p.paint(yellow, "! INTERRUPTED")+"  the numbers are of what was measured until then")
		if r.Client.Limited {
			p.field("", p.paint(red, "✗ NOT TRUSTWORTHY")+"  client-limited: "+strings.Join(r.Client.Reasons, "; "))
		}
	default:
		return
	}
	p.line("")
}

func (p *page) asked(r *Report) {
	title := r.Kind
	if r.Kind == Simulate {
		title = "simulation"
	}
	if r.Target.Model != "" {
		title += " of " + r.Target.Model
	}
	if r.Target.Endpoint != "" {
		title += " at " + r.Target.Endpoint
	}
	title = p.paint(bold, title)
	if r.Target.Bundled {
		title += strings.TrimRight(" (bundled stack, "+r.Target.Device, ", ") + ")"
	}
	p.field("run", title)
	p.cluster(r.Target.Cluster)
	if r.Asked != "" {
		p.field("asked", r.Asked)
	}
	p.defaults(r.Defaults)
	window := fmt.Sprintf("%s from %s to %s", units.Seconds(rounded(r.Window.EndS-r.Window.StartS)), units.Seconds(r.Window.StartS), units.Seconds(r.Window.EndS))
	if r.Window.EndS <= r.Window.StartS {
		window = "nothing was measured: the run ended before its warm-up did"
	}
	p.field("window", window)
}

// cluster is what was simulated, and what its times rest on.
func (p *page) cluster(pools []record.Pool) {
	label := "cluster"
	for _, c := range pools {
		text := fmt.Sprintf("%s of %d × %s", count(c.Replicas, strings.TrimLeft(c.Role+" replica", " ")), c.Accelerators, c.Accelerator)
		if c.Engine != "" {
			text += ", " + c.Engine
		}
		if c.Name != "" {
			text = c.Name + ": " + text
		}
		p.field(label, text)
		label = ""
	}
	label = "rests on"
	var told []string
	for _, c := range pools {
		if c.Steps == nil || slices.Contains(told, c.Steps.Source) {
			continue
		}
		told = append(told, c.Steps.Source)
		text := "steps: " + c.Steps.Source
		if c.Steps.Error > 0 {
			text += fmt.Sprintf(", typically %.0f %% off", 100*c.Steps.Error)
		}
		p.field(label, text)
		label = ""
	}
}

// defaults says what nobody asked for and yet shaped the answer.
func (p *page) defaults(all []record.Default) {
	if len(all) == 0 {
		return
	}
	var filled []string
	left := 0
	for _, d := range all {
		if slices.Contains(engineOwn, d.Name) {
			left++
			continue
		}
		filled = append(filled, fmt.Sprintf("%s %s (%s)", d.Name, d.Value, d.Flag))
	}
	if left > 0 {
		filled = append(filled, fmt.Sprintf("and %d of the engine's own (-o json)", left))
	}
	p.field("defaults", strings.Join(filled, ", "))
}

// engineOwn are defaults of a simulation that follow from its model, accelerator and
// engine. The text leaves them to the JSON, which has all.
var engineOwn = []string{
	"tensor parallel", "pipeline parallel", "weight dtype", "KV dtype", "prefix caching", "block size", "max_num_seqs", "max_num_batched_tokens",
	"max_model_len", "memory utilization",
}

// steadyDiffers is the difference from which on the steady part of the window is
// shown beside the whole.
const steadyDiffers = 0.05

func (p *page) happened(r *Report) {
	q := r.Requests
	parts := []string{units.Count(int64(q.Sent)) + " sent", p.paint(green, units.Count(int64(q.OK))+" ok")}
	if !r.ClosedLoop {
		parts = append([]string{units.Count(int64(q.Scheduled)) + " scheduled"}, parts...)
	}
	if q.Failed > 0 {
		parts = append(parts, p.paint(red, fmt.Sprintf("%s failed (%s)", units.Count(int64(q.Failed)), record.ListFailures(q.Failures, shownClasses))))
	} else {
		parts = append(parts, "0 failed")
	}
	for _, other := range []struct {
		n    int
		name string
	}{{q.Cancelled, "cancelled"}, {q.Cut, "cut by the end of the run"}, {q.Dropped, "dropped"}, {q.ShortOutput, "shorter than asked"}} {
		if other.n > 0 {
			parts = append(parts, units.Count(int64(other.n))+" "+other.name)
		}
	}
	p.field("requests", strings.Join(parts, ", "))
	p.failureDetails(&q)

	a := r.Rates
	parts = nil
	for _, rate := range []struct {
		v    *float64
		unit string
	}{{a.OfferedRPS, "offered/s"}, {a.SentRPS, "sent/s"}, {a.CompletedRPS, "completed/s"}, {a.OutputTokensPerS, "output tokens/s"}, {a.TotalTokensPerS, "total tokens/s"}} {
		if rate.v != nil {
			parts = append(parts, units.Number(*rate.v)+" "+rate.unit)
		}
	}
	if a.UserTokensPerSP50 != nil && a.UserTokensPerSP10 != nil {
		parts = append(parts, fmt.Sprintf("%s tokens/s per user (p10 %s)", units.Number(*a.UserTokensPerSP50), units.Number(*a.UserTokensPerSP10)))
	}
	p.field("rates", strings.Join(parts, ", "))
	if text := steadyText(r); text != "" {
		p.field("steady", text)
	}
	p.lengths(r)
}

// steadyText is the steady part of the window where it differs from the whole.
func steadyText(r *Report) string {
	a := r.Rates
	if a.SteadyOutputTokensPerS == nil {
		return ""
	}
	completed := "" // fewer than two requests ended in the steady part
	if a.SteadyCompletedRPS != nil {
		completed = units.Number(*a.SteadyCompletedRPS) + " completed/s, "
	}
	if !differs(a.SteadyOutputTokensPerS, a.OutputTokensPerS) && (completed == "" || !differs(a.SteadyCompletedRPS, a.CompletedRPS)) {
		return ""
	}
	return fmt.Sprintf("%s%s output tokens/s from %s to %s, while at least 95 %% of the usual requests were in flight",
		completed, units.Number(*a.SteadyOutputTokensPerS), units.Seconds(*r.Window.SteadyStartS), units.Seconds(*r.Window.SteadyEndS))
}

func differs(a, b *float64) bool {
	if a == nil || b == nil {
		return a != b
	}
	return max(*a, *b)-min(*a, *b) > steadyDiffers*max(*b, 0)
}

func (p *page) lengths(r *Report) {
	var parts []string
	for _, l := range []struct {
		name string
		v    *Lengths
	}{{"input", r.InputLength}, {"output", r.OutputLength}} {
		if l.v == nil || l.v.Mean == nil {
			continue
		}
		text := fmt.Sprintf("%s mean %s p50 %s", l.name, units.Number(*l.v.Mean), units.Number(*l.v.P50))
		if l.v.AskedMean != nil {
			text += fmt.Sprintf(" (asked mean %s p50 %s)", units.Number(*l.v.AskedMean), units.Number(*l.v.AskedP50))
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return
	}
	text := list(parts, "; ")
	if r.Tokens.Source != "" && r.Kind != Simulate {
		text += "; by " + r.Tokens.Source
	}
	if n := r.Tokens.Unread; n != nil && *n > 0 {
		text += "; " + units.Count(int64(*n)) + " more for users who had left"
	}
	p.field("tokens", text)
}

// latencies is the table of percentiles.
func (p *page) latencies(r *Report) {
	t := Table{Header: []string{"", "p50", "p90", "p95", "p99", "max", "n"}, Right: []bool{false, true, true, true, true, true, true}}
	thin := false
	for _, m := range r.rows() {
		d := m.dist
		if d == nil {
			continue
		}
		row := []string{fmt.Sprintf("%-*s", labelWidth-2, m.name)}
		for _, c := range []struct {
			name string
			v    float64
		}{{"p50", d.P50}, {"p90", d.P90}, {"p95", d.P95}, {"p99", d.P99}} {
			cell := units.Seconds(c.v)
			if d.IsThin(c.name) {
				cell, thin = cell+"*", true
			} else {
				cell += " "
			}
			row = append(row, cell)
		}
		t.Rows = append(t.Rows, append(row, units.Seconds(d.Max), units.Count(int64(d.N))))
	}
	if len(t.Rows) == 0 {
		return
	}
	for i := 1; i <= 4; i++ {
		t.Header[i] += " "
	}
	p.line("")
	t.WriteTo(&p.out) //nolint:errcheck // a buffer
	var notes []string
	if thin {
		notes = append(notes, "* fewer than 5 samples beyond it")
	}
	if n := r.Tokens.FirstEventAssumed; n > 0 && r.TPOT != nil {
		notes = append(notes, "tpot takes the first event for one token")
	}
	if len(notes) > 0 {
		p.field("", p.paint(faint, strings.Join(notes, "; ")))
	}
}

type metricRow struct {
	name, key string
	dist      *stats.Dist
}

// rows are the metrics that the text shows. TTFT from schedule and TTFO appear
// where they say something that TTFT does not.
func (r *Report) rows() []metricRow {
	rows := []metricRow{{"ttft", "ttft_s", r.TTFT}}
	if d := r.TTFTFromSchedule; d != nil && r.TTFT != nil && d.P99 > 1.05*r.TTFT.P99 {
		rows = append(rows, metricRow{"from due", "ttft_from_schedule_s", d})
	}
	if d := r.TTFO; d != nil && r.TTFT != nil && (d.P50 > 1.05*r.TTFT.P50 || d.N < r.TTFT.N) {
		rows = append(rows, metricRow{"ttfo", "ttfo_s", d})
	}
	return append(rows, metricRow{"tpot", "tpot_s", r.TPOT}, metricRow{"icl", "icl_s", r.ICL}, metricRow{"e2e", "e2e_s", r.E2E})
}
