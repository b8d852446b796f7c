package reports

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/sizing"
)

// planSection is the part of docs/results.md about plans.
func planSection(t *testing.T) string { return schemaSection(t, sizing.Schema) }

// schemaSection is the part of docs/results.md about one kind of document.
func schemaSection(t *testing.T, schema string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(text), "## `"+schema+"`")
	if !ok {
		t.Fatalf("docs/results.md has no section %s", schema)
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

// Every key that a search can hold, and every code of its rejections.
func TestSearchIsDocumented(t *testing.T) {
	section := schemaSection(t, sizing.SearchSchema)
	keys := map[string]bool{}
	keysOf(reflect.TypeFor[sizing.Search](), keys)
	if !keys["ttft_p99_s"] || !keys["quality_not_judged"] || !keys["max_num_batched_tokens"] || !keys["configurations"] {
		t.Fatalf("the walk over the types misses some: %v", keys)
	}
	words := regexp.MustCompile(`[a-z0-9_]+`).FindAllString(section, -1)
	for key := range keys {
		if !slices.Contains(words, key) {
			t.Errorf("docs/results.md does not mention %s", key)
		}
	}
	for code := range rejectionWords {
		if !strings.Contains(section, "`"+code+"`") {
			t.Errorf("docs/results.md does not mention the rejection %s", code)
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
