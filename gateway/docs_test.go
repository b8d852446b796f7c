package gateway

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/gateway/config"
)

// readDocs is all documents of the gateway.
func readDocs(t *testing.T) string {
	t.Helper()
	paths, err := filepath.Glob("../docs/gateway*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("documents %v, %v", paths, err)
	}
	var text strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	return text.String()
}

func TestEveryMetricIsDocumented(t *testing.T) {
	docs := readDocs(t)
	s, _ := followed(t, frozen(config.Limits{RPM: 1}, config.Limits{}))
	s.post(plainBody)
	s.post(plainBody)
	s.settled()
	lively := lively(t)
	lively.settled()
	for line := range strings.Lines(s.metrics() + lively.metrics()) {
		name, ok := strings.CutPrefix(line, "# TYPE ")
		if name, _, _ = strings.Cut(name, " "); !ok || !strings.HasPrefix(name, "llmctl_") && !strings.HasPrefix(name, "gen_ai_") {
			continue
		}
		if !strings.Contains(docs, "`"+name+"`") {
			t.Errorf("metric %s is not documented", name)
		}
	}
}
