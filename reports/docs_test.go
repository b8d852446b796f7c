package reports

import (
	"os"
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
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
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

// Every warning that the source gives must be in docs/results.md.
func TestWarningsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../docs/results.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("trust.go")
	if err != nil {
		t.Fatal(err)
	}
	notes := regexp.MustCompile(`c\.note\(r, "([a-z_]+)"`).FindAllSubmatch(source, -1)
	if len(notes) < 8 {
		t.Fatalf("found %d warnings in the source", len(notes))
	}
	for _, note := range notes {
		if !strings.Contains(string(text), "`"+string(note[1])+"`") {
			t.Errorf("docs/results.md does not mention the warning %s", note[1])
		}
	}
}
