package reports

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/reports/record"
)

// keysOf collects the JSON keys of a type and of the types inside it.
func keysOf(t reflect.Type, keys map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		keysOf(t.Elem(), keys)
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range t.NumField() {
			f := t.Field(i)
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
				keys[name] = true
			}
			if f.IsExported() {
				keysOf(f.Type, keys)
			}
		}
	}
}

// Every key that a document or a record can hold must be in docs/results.md.
func TestResultsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for _, word := range regexp.MustCompile(`[a-z0-9_]+`).FindAllString(string(text), -1) {
		documented[word] = true
	}
	keys := map[string]bool{}
	keysOf(reflect.TypeFor[Report](), keys)
	keysOf(reflect.TypeFor[Curve](), keys)
	keysOf(reflect.TypeFor[Variants](), keys)
	if !keys["goodput_rps"] || !keys["ratios"] || !keys["approximate"] {
		t.Fatalf("the walk over the types misses some: %v", keys)
	}
	line := with(request(0, ms, ms, 2), func(r *record.Record) {
		r.Tenant, r.Class, r.PrefixGroup, r.Model, r.RequestID = "t", "c", record.Counted(1), "m", "r"
		r.UsageImplausible = true
		r.AskedInput, r.AskedOutput, r.Cached, r.ShortOutput, r.Failure, r.Detail = record.Counted(1), record.Counted(1), record.Counted(1), true, record.Connect, "d"
	}).AppendJSON(nil)
	for _, match := range regexp.MustCompile(`"([a-z_]+)":`).FindAllSubmatch(line, -1) {
		keys[string(match[1])] = true
	}
	for key := range keys {
		if !documented[key] {
			t.Errorf("docs/results.md does not mention %s", key)
		}
	}
}

// Every warning of a run that any package gives must be in docs/results.md.
// (The warnings of a plan are of package sizing.)
func TestWarningsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	given := regexp.MustCompile(`(?:c\.note\(r, |Warning\{(?:Code: )?|Code:\s*|\b(?:Aborted|Unfinished|Records\w+)\s*= |\bwarn\()"([a-z_]+)"`)
	found := map[string]bool{}
	for _, folder := range []string{".", "../loadgen", "../cmd", "../internal"} {
		err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			source, err := os.ReadFile(path)
			for _, match := range given.FindAllSubmatch(source, -1) {
				found[string(match[1])] = true
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, code := range []string{"usage_refused", "no_server_metrics", "not_saved", "unfinished", "records_truncated", "coalesced"} {
		if !found[code] {
			t.Errorf("the search of the source misses %s", code)
		}
	}
	for code := range found {
		if !strings.Contains(string(text), "`"+code+"`") {
			t.Errorf("docs/results.md does not mention the warning %s", code)
		}
	}
}
