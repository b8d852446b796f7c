package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// PlanTable is a plan as keys and values, for spreadsheets: the keys are those
// of its JSON, with dots between them. The derivation is there with explain.
func PlanTable(p *sizing.Plan, explain bool) Table {
	t := Table{Header: []string{"key", "value"}}
	planFields(p, explain).ForEach(func(key, value gjson.Result) bool {
		t.flatten(key.String(), value)
		return true
	})
	return t
}

// planFields is the plan's JSON.
func planFields(p *sizing.Plan, explain bool) gjson.Result {
	shown := *p
	if !explain {
		shown.Derivation = nil
	}
	data, err := json.Marshal(shown)
	if err != nil {
		panic(err) // a plan holds numbers, texts and lists of them, and no NaN
	}
	return gjson.ParseBytes(data)
}

// flatten adds one row per value below a key.
func (t *Table) flatten(key string, value gjson.Result) {
	switch {
	case value.IsObject() || value.IsArray():
		i := 0
		value.ForEach(func(k, v gjson.Result) bool {
			name := k.String()
			if value.IsArray() {
				name = strconv.Itoa(i)
			}
			i++
			t.flatten(key+"."+name, v)
			return true
		})
	case value.Type != gjson.Null:
		t.Rows = append(t.Rows, []string{key, value.String()})
	}
}

// WritePlanMarkdown writes a plan for a document: the answer in words, then a
// table per part.
func WritePlanMarkdown(w io.Writer, p *sizing.Plan, explain bool) error {
	var b, answer strings.Builder
	writeAnswer(&answer, p)
	title, rest, _ := strings.Cut(answer.String(), "\n")
	fmt.Fprintf(&b, "# %s\n", title)
	b.WriteString("\n```\n" + strings.Trim(rest, "\n") + "\n```\n")
	fields := planFields(p, explain)
	for _, part := range []struct{ key, title string }{
		{"plan", "Plan"}, {"day", "Day"}, {"api", "API"}, {"performance", "Performance of one replica"},
		{"memory", "Memory of one accelerator"}, {"model", "Model"}, {"inputs", "Inputs"},
	} {
		value := fields.Get(part.key)
		if !value.Exists() {
			continue
		}
		t := Table{Header: []string{"key", "value"}, Right: []bool{false, true}}
		value.ForEach(func(k, v gjson.Result) bool {
			if k.String() != "hours" { // a table of their own
				t.flatten(k.String(), v)
			}
			return true
		})
		fmt.Fprintf(&b, "\n## %s\n\n", part.title)
		t.writeMarkdown(&b)
		if part.key == "day" {
			b.WriteString("\n")
			hoursTable(p.Day).writeMarkdown(&b)
		}
	}
	if len(p.Assumptions) > 0 {
		t := Table{Header: []string{"assumed", "flag that changes it"}}
		for _, a := range p.Assumptions {
			t.Rows = append(t.Rows, []string{a.Value, a.Flag})
		}
		b.WriteString("\n## Assumptions\n\n")
		t.writeMarkdown(&b)
	}
	if len(p.Warnings) > 0 {
		b.WriteString("\n## Warnings\n\n")
		for _, warning := range p.Warnings {
			b.WriteString("- " + inCell.Replace(warning.Text) + "\n")
		}
	}
	if explain {
		writeDerivationMarkdown(&b, p)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func hoursTable(d *sizing.Day) Table {
	t := Table{Header: []string{"hour", "requests/s", "replicas needed", "utilization of the fixed fleet", "$ per 1M output tokens"}, Right: []bool{true, true, true, true, true}}
	for _, h := range d.Hours {
		price := ""
		if h.USDPer1MOut > 0 {
			price = money(h.USDPer1MOut)
		}
		t.Rows = append(t.Rows, []string{fmt.Sprintf("%02d", h.Hour), units.Number(h.RPS), strconv.Itoa(h.Replicas), fmt.Sprintf("%.0f%%", h.Utilization*100), price})
	}
	return t
}
