package profiles

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const comparedScenario = `
compare: { concurrency: [1, 64], router: ["prefix_affinity:load_cap=none", round_robin] }
`

// TestCompare: settings keep the order of the file, by which variants are laid out.
func TestCompare(t *testing.T) {
	s, err := ParseScenario([]byte(comparedScenario))
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		Compare: []Comparison{
			{Setting: "concurrency", Values: []string{"1", "64"}},
			{Setting: "router", Values: []string{"prefix_affinity:load_cap=none", "round_robin"}},
		},
	}
	if diff := cmp.Diff(want, s); diff != "" {
		t.Error(diff)
	}
	again, err := ParseScenario(marshal(t, s))
	if diff := cmp.Diff(want, again); err != nil || diff != "" {
		t.Errorf("written and read again: %v %s", err, diff)
	}
	data, err := json.Marshal(s)
	if want := `{"compare":[` +
		`{"setting":"concurrency","values":["1","64"]},{"setting":"router","values":["prefix_affinity:load_cap=none","round_robin"]}]}`; err != nil || string(data) != want {
		t.Errorf("%s %v, want %s", data, err, want)
	}
	base := Scenario{Run: Run{Requests: 3}, Compare: []Comparison{{Setting: "tp", Values: []string{"1", "2"}}}}
	over := s.Over(base)
	if diff := cmp.Diff(s.Compare, over.Compare); diff != "" {
		t.Errorf("over another one: %s", diff)
	}
	if over := (Scenario{}).Over(base); cmp.Diff(base, over) != "" {
		t.Errorf("where nothing is said the base is %+v", over)
	}
}

func TestCompareErrors(t *testing.T) {
	for text, want := range map[string]string{
		"compare: router":                                       "expected a setting and a list of its values",
		"compare: { router: round_robin }":                      "router: expected a list of at least two values",
		"compare: { router: [round_robin] }":                    "router: expected a list of at least two values",
		"compare: { replicas: [1, 2, 1] }":                      "replicas: the value 1 is there twice",
		"compare: { replicas: [1, [2]] }":                       "replicas: expected a value",
		"compare: { replicas: [1, 2], tp: [1, 2], tp: [2, 4] }": "tp is given twice",
	} {
		_, err := ParseScenario([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "line 1") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with %q", text, err, want)
		}
	}
}
