package reports

import (
	"bytes"
	"context"
	"encoding/csv"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

func search(t *testing.T, model string, accelerators ...string) *sizing.Search {
	t.Helper()
	r := sizing.SearchRequest{Accelerators: accelerators}
	r.Scenario.Model = model
	r.Scenario.Workload.Arrival = profiles.Arrival{Process: profiles.Poisson, RatePerS: 20}
	r.MaxNumSeqs = 256
	s, err := sizing.Explore(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWriteSearch(t *testing.T) {
	for name, s := range map[string]*sizing.Search{
		"search":          search(t, "qwen2.5-7b", "h100-sxm-80gb", "a100-sxm-80gb", "l4-24gb", "h800-80gb", "a10g-24gb", "rtx-pro-6000-96gb"),
		"search_nothing":  search(t, "llama-3.1-405b", "t4-16gb"),
		"search_pipeline": search(t, "deepseek-v3", "h100-sxm-80gb", "rtx-pro-6000-96gb"),
	} {
		t.Run(name, func(t *testing.T) {
			var got bytes.Buffer
			if err := WriteSearch(&got, s); err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(got.String(), "\n") {
				if n := ansi.StringWidth(line); n > planWidth {
					t.Errorf("line of %d columns: %s", n, line)
				}
			}
			golden(t, name+".golden", got.String())
		})
	}
}

func TestSearchForms(t *testing.T) {
	s := search(t, "llama-3.1-8b", "h100-sxm-80gb", "a10g-24gb")
	var text, markdown bytes.Buffer
	if err := SearchTable(s).WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 + len(s.Options) + len(s.Rejections); len(rows) != want {
		t.Errorf("%d rows, want a header and one per configuration, %d", len(rows), want)
	}
	if rows[1][0] != "cheapest" || rows[len(rows)-1][0] != s.Rejections[len(s.Rejections)-1].Code {
		t.Errorf("first %v, last %v", rows[1], rows[len(rows)-1])
	}
	if err := WriteSearchMarkdown(&markdown, s); err != nil {
		t.Fatal(err)
	}
	golden(t, "search.md", markdown.String())
}

func TestPlanForms(t *testing.T) {
	office, err := profiles.LoadLoadProfile("office")
	if err != nil {
		t.Fatal(err)
	}
	p, err := sizing.Compute(sizing.Request{Scenario: profiles.Scenario{Model: "llama-3.1-8b"}, LoadProfile: office})
	if err != nil {
		t.Fatal(err)
	}
	var markdown bytes.Buffer
	if err := WritePlanMarkdown(&markdown, p, true); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.md", markdown.String())
	keys := map[string]string{}
	for _, row := range PlanTable(p, false).Rows {
		keys[row[0]] = row[1]
	}
	for key, want := range map[string]string{"schema": sizing.Schema, "feasible": "true", "inputs.model": "llama-3.1-8b", "day.hours.23.hour": "23"} {
		if keys[key] != want {
			t.Errorf("%s is %q, want %q", key, keys[key], want)
		}
	}
	if _, there := keys["derivation.0.name"]; there {
		t.Error("a derivation that nobody asked for")
	}
}

func TestMarkdownKeepsItsTable(t *testing.T) {
	var b strings.Builder
	Table{Header: []string{"a|b", "c"}, Rows: [][]string{{"x\ny", "`*"}, {"short"}}, Right: []bool{false, true}}.writeMarkdown(&b)
	want := "| a\\|b | c |\n|---|---:|\n| x y | \\`\\* |\n| short |  |\n"
	if b.String() != want {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
