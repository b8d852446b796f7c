package reports

import (
	"bytes"
	"context"
	"encoding/csv"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing"
)

func searched(t *testing.T, model string, accelerators ...string) *sizing.Search {
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
		"search":          searched(t, "qwen2.5-7b", "h100-sxm-80gb", "a100-sxm-80gb", "l4-24gb", "h800-80gb", "a10g-24gb", "rtx-pro-6000-96gb"),
		"search_nothing":  searched(t, "llama-3.1-405b", "t4-16gb"),
		"search_pipeline": searched(t, "deepseek-v3", "h100-sxm-80gb", "rtx-pro-6000-96gb"),
		"search_experts":  searched(t, "deepseek-v3", "h200-sxm-141gb", "a100-sxm-80gb", "mi300x-192gb"),
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

// What a table is read for must be in it: each accelerator with a price that serves,
// a mark on those that were never measured, and why the others do not serve.
func TestSearchAnswersWhichIsCheapest(t *testing.T) {
	s := searched(t, "llama-3.1-8b", "mi300x-192gb", "b200-180gb", "h100-sxm-80gb", "l4-24gb", "t4-16gb")
	var got bytes.Buffer
	if err := WriteSearch(&got, s); err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(got.String()), " ")
	for _, want := range []string{
		"mi300x-192gb? ", "b200-180gb fp8*", "h100-sxm-80gb fp8*", "nothing serves on l4-24gb, t4-16gb",
		"not measured: no runs of vllm@0.31 on such accelerators are known", "mi300x-192gb, never measured with this engine",
		"Cheapest on accelerators that the engine was measured on",
		"? the engine was never measured on such accelerators",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, got.String())
		}
	}
}

// The notation of a shape is explained where it is shown, and only there.
func TestShapesAreExplained(t *testing.T) {
	option := func(tensor, pipeline, data, experts int) sizing.Option {
		return sizing.Option{Measured: true, Configuration: sizing.Configuration{
			Accelerator: "a", TensorParallel: tensor, PipelineParallel: pipeline, DataParallel: data, ExpertParallel: experts,
		}}
	}
	for _, tc := range []struct {
		option        sizing.Option
		shape, legend string
	}{
		{option(1, 1, 1, 0), "a", ""},
		{option(8, 1, 1, 0), "8×a", ""},
		{option(8, 2, 1, 0), "8·2×a", ", 2·4×a is TP 2 by PP 4"},
		{option(4, 1, 2, 8), "4·d2×a", ", 2·d4×a is TP 2 by DP 4 with whole experts divided among the 8 (EP 8)"},
		{option(8, 1, 1, 8), "e8×a", ", e8×a is TP 8 with whole experts divided (EP 8)"},
	} {
		if got := replicaShape(tc.option.Configuration); got != tc.shape {
			t.Errorf("%s, want %s", got, tc.shape)
		}
		if got := legendOf([]*sizing.Option{&tc.option}); got != tc.legend {
			t.Errorf("%s: %q, want %q", tc.shape, got, tc.legend)
		}
	}
}

func TestSearchForms(t *testing.T) {
	s := searched(t, "llama-3.1-8b", "h100-sxm-80gb", "a10g-24gb")
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
	column := func(name string) int { return slices.Index(rows[0], name) }
	for _, row := range rows[1:] {
		if serves := row[column("replicas")] != ""; serves != (row[column("error.relative")] != "") || serves == (row[column("reason")] != "") {
			t.Errorf("%v", row)
		}
	}
	if first := rows[1]; first[column("data_parallel")] != "1" || first[column("measured")] != "true" || first[column("error.low")] == "" {
		t.Errorf("first %v", first)
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
