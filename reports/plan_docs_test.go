package reports

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/sizing"
)

// planSection is the part of docs/results.md about plans.
func planSection(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## `"+sizing.Schema+"`")
	if !ok {
		t.Fatalf("docs/results.md has no section %s", sizing.Schema)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	return section
}

// Every key that a plan can hold must be in its section.
func TestPlanIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, word := range regexp.MustCompile(`[a-z0-9_]+`).FindAllString(planSection(t), -1) {
		documented[word] = true
	}
	keys := map[string]bool{}
	keysOf(reflect.TypeFor[sizing.Plan](), keys)
	if !keys["usd_per_1m_input_tokens"] || !keys["kv_cache_given"] || !keys["substituted"] {
		t.Fatalf("the walk over the types misses some: %v", keys)
	}
	for key := range keys {
		if !documented[key] {
			t.Errorf("docs/results.md does not mention %s", key)
		}
	}
}

// Every warning that a plan can give must be there as well.
func TestPlanWarningsAreDocumented(t *testing.T) {
	section := planSection(t)
	files, err := filepath.Glob("../sizing/*.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`s\.warn\("([a-z0-9-]+)"`).FindAllSubmatch(source, -1) {
			codes++
			if !strings.Contains(section, "`"+string(match[1])+"`") {
				t.Errorf("docs/results.md does not mention the warning %s", match[1])
			}
		}
	}
	if codes < 12 {
		t.Errorf("found %d warnings in the source", codes)
	}
}
