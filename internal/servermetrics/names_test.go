package servermetrics

import (
	"os"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/reports/record"
)

// The tables have names for each number and each histogram of a sample, and for
// nothing else; docs/telemetry.md shows all of them.
func TestTablesAreWhole(t *testing.T) {
	text, err := os.ReadFile("../../docs/telemetry.md")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]bool{}
	check := func(key string, names []string) {
		keys[key] = true
		if len(names) == 0 {
			t.Errorf("no engine exports %s", key)
		}
		for _, name := range names {
			if !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("docs/telemetry.md does not show %s", name)
			}
			if base, _, _, _ := splitName(name); strings.HasSuffix(base, "_total") {
				t.Errorf("%s stands here with its suffix", name)
			}
		}
	}
	for _, n := range record.Numbers {
		check(n.Key, numberNames[n.Key])
	}
	for _, timing := range record.Timings {
		check(timing.Key, timingNames[timing.Key])
	}
	for _, f := range finished {
		check("finished", []string{f.name})
	}
	for _, k := range kvBlocks {
		check("kv_usage", []string{k.used, k.all})
	}
	for _, table := range []map[string][]string{numberNames, timingNames} {
		for key := range table {
			if !keys[key] {
				t.Errorf("%s is no number of a sample", key)
			}
		}
	}
}
