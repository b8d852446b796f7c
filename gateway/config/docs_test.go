package config

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// pages are the documents of the gateway.
func pages(t testing.TB) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("../../docs/gateway*.md")
	if err != nil || len(paths) < 3 {
		t.Fatalf("documents %v, %v", paths, err)
	}
	all := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(path)] = string(data)
	}
	return all
}

// readDocs is all of them.
func readDocs(t testing.TB) string {
	t.Helper()
	var text strings.Builder
	for _, page := range pages(t) {
		text.WriteString(page)
	}
	return text.String()
}

// Documents show whole configurations, and after one only the keys that a step
// changes.
func TestConfigurationInTheDocsIsAccepted(t *testing.T) {
	for name, page := range pages(t) {
		blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(page, -1)
		whole := map[string]any{}
		decode(t, minimal, whole)
		for _, block := range blocks {
			step := map[string]any{}
			decode(t, block[1], step)
			if step["listen"] != nil {
				whole = step
			}
			merged := maps.Clone(whole)
			maps.Copy(merged, step)
			text, err := yaml.Marshal(merged)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Parse(text); err != nil {
				t.Errorf("%s: %v in\n%s", name, err, block[1])
			}
		}
	}
}

// Whoever follows the tour step by step, each on top of those before, has a file that
// is taken after each.
func TestTheTourCanBeFollowedToItsEnd(t *testing.T) {
	whole := map[string]any{}
	steps := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(pages(t)["gateway-tour.md"], -1)
	if len(steps) < 10 {
		t.Fatalf("%d steps", len(steps))
	}
	for i, step := range steps {
		decode(t, step[1], whole)
		text, err := yaml.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(text); err != nil {
			t.Errorf("step %d: %v in\n%s", i+1, err, step[1])
		}
	}
}

func decode(t *testing.T, text string, into map[string]any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(text), &into); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
}

// Every key that the configuration takes is in a table of the docs.
func TestEveryKeyIsDocumented(t *testing.T) {
	docs := readDocs(t)
	var visit func(reflect.Type)
	visit = func(at reflect.Type) {
		for at.Kind() == reflect.Slice || at.Kind() == reflect.Pointer {
			at = at.Elem()
		}
		if at.Kind() != reflect.Struct {
			return
		}
		for i := range at.NumField() {
			key, _, _ := strings.Cut(at.Field(i).Tag.Get("yaml"), ",")
			if !regexp.MustCompile("(?m)(^\\| .*[`.]" + key + "[`.\\[]|^\\*\\*" + key + "\\*\\*, a list)").MatchString(docs) {
				t.Errorf("key %q of %s is not documented", key, at.Name())
			}
			visit(at.Field(i).Type)
		}
	}
	visit(reflect.TypeFor[Config]())
}
