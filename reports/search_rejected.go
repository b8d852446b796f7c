package reports

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/sizing"
)

// rejectionWords say in short what the codes of rejections mean.
var rejectionWords = map[string]string{
	"no-rate": "no bf16 rate in the data", "parallel": "the model can not be divided so", "memory": "does not fit into memory",
	"slo": "a lone request breaks the objective", "load": "the accelerators at hand do not carry the load", "refused": "refused",
}

// rejectionGroup is what is wrong with several configurations, and one of them.
type rejectionGroup struct {
	code         string
	n            int
	accelerators map[string]bool
	example      sizing.Rejection
}

// groupRejections groups by what is wrong, the most frequent first.
func groupRejections(rejections []sizing.Rejection) []*rejectionGroup {
	var groups []*rejectionGroup
	for _, r := range rejections {
		i := slices.IndexFunc(groups, func(g *rejectionGroup) bool { return g.code == r.Code })
		if i < 0 {
			i = len(groups)
			groups = append(groups, &rejectionGroup{code: r.Code, accelerators: map[string]bool{}, example: r})
		}
		groups[i].n += r.Configurations
		groups[i].accelerators[r.Accelerator] = true
	}
	slices.SortStableFunc(groups, func(a, b *rejectionGroup) int { return b.n - a.n })
	return groups
}

func writeRejected(b *strings.Builder, s *sizing.Search) {
	groups := groupRejections(s.Rejections)
	if len(groups) == 0 {
		return
	}
	b.WriteString("\nOut; each with its reason in -o csv and -o json\n")
	for _, g := range groups {
		paragraph(b, "  ", fmt.Sprintf("%s: %s, on %s", units.Count(int64(g.n)), rejectionWords[g.code], count(len(g.accelerators), "accelerator")))
		paragraph(b, "    ", fmt.Sprintf("e.g. %s: %s", rejectedShape(g.example.Configuration), g.example.Reason))
	}
}

// rejectedShape names a configuration as far as it matters to its rejection.
func rejectedShape(c sizing.Configuration) string {
	if c.TensorParallel == 0 {
		return c.Accelerator
	}
	return strings.TrimSuffix(replicaShape(c)+" "+c.WeightDType, " ")
}

// closestFirst are the codes of rejections, the ones that are nearest to serving
// first.
var closestFirst = []string{"load", "slo", "memory", "refused", "parallel", "no-rate"}

// nothingServes lists the accelerators that nothing serves on, by what is wrong
// with the configuration that came closest.
func nothingServes(s *sizing.Search) string {
	closest := map[string]int{}
	for _, r := range s.Rejections {
		at := slices.Index(closestFirst, r.Code)
		if had, ok := closest[r.Accelerator]; !ok || at < had {
			closest[r.Accelerator] = at
		}
	}
	serves := map[string]bool{}
	for _, o := range slices.Concat(s.PerKind, s.Unpriced) {
		serves[o.Accelerator] = true
	}
	var parts []string
	for i, code := range closestFirst {
		var names []string
		for _, name := range s.Inputs.Accelerators {
			if at, ok := closest[name]; ok && at == i && !serves[name] {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			parts = append(parts, list(names, ", ")+" ("+rejectionWords[code]+")")
		}
	}
	return strings.Join(parts, "; ")
}
