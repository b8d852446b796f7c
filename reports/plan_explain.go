package reports

import (
	"fmt"
	"strings"

	"github.com/llmctl/llmctl/sizing"
)

// firsts are the numbers that one would say first, in this order, and how.
var firsts = []struct{ name, words string }{
	{"KV cache per token", "One token takes %s of KV cache"},
	{"weights per accelerator", "The weights take %s of each accelerator"},
	{"KV pool per accelerator", "Weights and overheads leave %s of it for the KV pool"},
	{"KV tokens", "A replica's pool holds %s"},
	{"average requests at once", "That is %s of the workload at once"},
	{"decode step", "A decode step takes %s at the planned load"},
	{"TTFT, mean", "The first token takes %s on average"},
	{"largest rate per replica", "One replica carries at most %s"},
	{"replicas", "The load takes %s"},
	{"cost per hour", "They cost %s"},
}

// groupTitles head the rest.
var groupTitles = map[sizing.Group]string{
	sizing.GroupModel: "Model", sizing.GroupMemory: "Memory", sizing.GroupCapacity: "Capacity",
	sizing.GroupTime: "Time", sizing.GroupReplicas: "Replicas", sizing.GroupMoney: "Money",
}

// spoken are the sentences of the summary.
func spoken(p *sizing.Plan) []string {
	var out []string
	for _, f := range firsts {
		for _, d := range p.Derivation {
			if d.Name != f.name {
				continue
			}
			text := fmt.Sprintf(f.words, quantity(d.Value, d.Unit))
			if f.name == "largest rate per replica" && p.Performance != nil {
				text += "; then the " + p.Performance.Bound + " stops it"
			} else {
				text += ": " + d.Formula
			}
			out = append(out, text+".")
			break
		}
	}
	return out
}

// shown are the derivations of a group that say something new.
func shown(p *sizing.Plan, group sizing.Group) []sizing.Derivation {
	var out []sizing.Derivation
	for _, d := range p.Derivation {
		windows := p.Model.GrowingKVBytesPerToken != p.Model.KVBytesPerToken
		if d.Group == group && (windows || d.Name != "KV cache per token beyond the windows") {
			out = append(out, d)
		}
	}
	return out
}

// writeDerivation writes the numbers that matter first as one would say them,
// then how each number was reached.
func writeDerivation(b *strings.Builder, p *sizing.Plan) {
	b.WriteString("\nIn short\n")
	for i, sentence := range spoken(p) {
		paragraph(b, fmt.Sprintf("  %2d. ", i+1), sentence)
	}
	for _, group := range sizing.Groups {
		list := shown(p, group)
		if len(list) == 0 {
			continue
		}
		fmt.Fprintf(b, "\nDerivation: %s\n", groupTitles[group])
		for _, d := range list {
			writeDerived(b, d)
		}
	}
}

func writeDerived(b *strings.Builder, d sizing.Derivation) {
	b.WriteString("\n")
	paragraph(b, "  ", d.Name)
	paragraph(b, "    = ", d.Formula)
	if d.Substituted != "" {
		paragraph(b, "    = ", d.Substituted)
	}
	if d.Note != "" {
		paragraph(b, "    by: ", d.Note)
	}
	paragraph(b, "    = ", quantity(d.Value, d.Unit))
	paragraph(b, "    source: ", d.Source)
}

// writeDerivationMarkdown is writeDerivation for a document.
func writeDerivationMarkdown(b *strings.Builder, p *sizing.Plan) {
	b.WriteString("\n## Derivation\n\n")
	for i, sentence := range spoken(p) {
		fmt.Fprintf(b, "%d. %s\n", i+1, inCell.Replace(sentence))
	}
	for _, group := range sizing.Groups {
		t := Table{Header: []string{"name", "formula", "numbers", "result", "source"}}
		for _, d := range shown(p, group) {
			numbers := d.Substituted
			if numbers == "" {
				numbers = d.Note
			}
			t.Rows = append(t.Rows, []string{d.Name, d.Formula, numbers, quantity(d.Value, d.Unit), d.Source})
		}
		if len(t.Rows) > 0 {
			fmt.Fprintf(b, "\n### %s\n\n", groupTitles[group])
			t.writeMarkdown(b)
		}
	}
}
