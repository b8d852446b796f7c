package gateway

import (
	"os"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
)

func readDocs(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEveryMetricIsDocumented(t *testing.T) {
	docs := readDocs(t)
	s, _ := followed(t, frozen(config.Limits{RPM: 1}, config.Limits{}))
	s.post(plainBody)
	s.post(plainBody)
	s.settled()
	for line := range strings.Lines(s.metrics()) {
		name, ok := strings.CutPrefix(line, "# TYPE ")
		if name, _, _ = strings.Cut(name, " "); !ok || !strings.HasPrefix(name, "llmctl_") && !strings.HasPrefix(name, "gen_ai_") {
			continue
		}
		if !strings.Contains(docs, "`"+name+"`") {
			t.Errorf("metric %s is not documented", name)
		}
	}
}
