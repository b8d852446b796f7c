package accuracy

import (
	"fmt"
	"strings"
)

// preface says what the tables are and how they are made.
const preface = `# Accuracy

How far plans are from what engines logged and publishers state. ` + "`make accuracy`" + ` writes
this page from the rows in sizing/accuracy/data, each with its public source;
` + "`make accuracy DATA=DIR`" + ` runs the same comparisons on other files of the same columns.

An error is |planned ÷ published − 1|. A row is left out only by rule: it does not
state what a command needs (column ` + "`runnable`" + `), it repeats another, or its model,
accelerator, format or engine is refused; refused rows are counted and may be at
most 5 % of those that can be run. An engine whose version is not stated is
planned as the newest that llmctl knows; where the log line is of the form of
before vLLM 0.24, as the newest before that. Rows whose number begins with N, S
or T (logs.csv) are public logs that were found after most rules were made (N14,
N17 and N34 have shaped those of CUDA graphs and of cards without NVLink since); of
these the pool end to end is compared where accelerator, version and share of the
memory are all stated.

Engines log the pool of their first worker, and the worker with the fewest blocks
decides the tokens. For a pipeline the difference between the two is taken from
the plan. Concurrency is compared as it is logged, in hundredths.

Published first-token times are means over a run that starts all clients at once.
Where the program is known (InferenceX sends ten requests per client, GenAI-Perf
measures without the start), TTFT is predicted for that; else ten are taken, and
such rows are neither fitted nor counted in the interval. Open loads that are not
answered, and prompts of which the cache holds an unknown part, have no TTFT to
compare. What is left of the error is mostly the time outside of the engine, which
runs of the same engine differ in tenfold.

The ends of the 80 % intervals are quantiles of the errors on these held-out rows, so
that their coverage is in-sample here; other files (DATA=DIR) put it to the test.

`

// Markdown is the text of docs/accuracy.md: the table, then per check the worst
// rows, what is explained and what was left out.
func Markdown(checks []Check) string {
	var b strings.Builder
	b.WriteString(preface)
	b.WriteString("| check | bar | reached | rows | left out | |\n|---|---|---|---:|---:|---|\n")
	for _, c := range checks {
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s |\n", c.Name, c.bar(), c.reached(), len(c.Rows), excluded(c), c.verdict())
	}
	for _, c := range checks {
		fmt.Fprintf(&b, "\n## %s\n\nThe worst rows:\n\n| row | what | planned | published | error |\n|---|---|---:|---:|---:|\n", title(c.Name))
		for _, r := range c.Worst(worstShown) {
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", r.ID, r.Subject, figure(r.Got), figure(r.Want), percent(r.Error))
		}
		explanations(&b, c)
		if len(c.Excluded) > 0 {
			b.WriteString("\nLeft out:\n\n")
			for _, e := range c.Excluded {
				fmt.Fprintf(&b, "- %s (%s): %s\n", e.ID, e.Subject, e.Reason)
			}
		}
	}
	return b.String()
}

// explanations lists each reason once, with the rows that it holds for.
func explanations(b *strings.Builder, c Check) {
	var order []string
	rows := map[string][]string{}
	for _, r := range c.Worst(len(c.Rows)) {
		if r.Note == "" {
			continue
		}
		if _, seen := rows[r.Note]; !seen {
			order = append(order, r.Note)
		}
		if ids := rows[r.Note]; len(ids) == 0 || ids[len(ids)-1] != r.ID {
			rows[r.Note] = append(ids, r.ID)
		}
	}
	if len(order) == 0 {
		return
	}
	b.WriteString("\nWhat is known about rows that are off:\n\n")
	for _, note := range order {
		fmt.Fprintf(b, "- %s: %s\n", strings.Join(rows[note], ", "), note)
	}
}

func title(name string) string { return strings.ToUpper(name[:1]) + name[1:] }
