package config

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A file that went through a tool that reads YAML 1.1 says the same as before:
// testdata/pyyaml.* are what PyYAML 6.0.3 writes of testdata/source.yaml, by
// yaml.safe_dump(yaml.safe_load(text)) and by json.dumps(yaml.safe_load(text)).
func TestFilesThatWentThroughOtherToolsSayTheSame(t *testing.T) {
	read := func(path string) *Config {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		c, err := Parse(data)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		return c
	}
	want := read("testdata/source.yaml")
	if want.Filters[0].On != OnBoth {
		t.Fatalf("the source looks at %q", want.Filters[0].On)
	}
	others, err := filepath.Glob("testdata/pyyaml.*")
	if err != nil || len(others) < 2 {
		t.Fatalf("files %v, %v", others, err)
	}
	for _, path := range others {
		if diff := cmp.Diff(want, read(path)); diff != "" {
			t.Errorf("%s (+) is not as its source (-):\n%s", path, diff)
		}
	}
}

// Numbers as JSON's floats, and values in quotes, are what templates make of them.
func TestNumbersOfTemplatesAreTaken(t *testing.T) {
	text := strings.NewReplacer(
		"    kind: openai", `    cache_salt: "false"`+"\n"+`    router: {policy: prefix_affinity, load_cap: "1.5"}`+"\n    metrics: vllm",
		"model: tiny", `model: tiny, weight: "5", context: 1.28e+05`,
		"    keys:", "    limits: {rpm: 1e+06, input_tpm: \"1M\", output_tpm: 600.0, usd_per_day: '40'}\n    weight: '3'\n    keys:",
		"tenants:", "max_body: 3.3554432e+07\ntenants:",
	).Replace(minimal)
	c, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got := []any{
		c.MaxBody, c.Tenants[0].Limits, c.Tenants[0].Weight, *c.Providers[0].CacheSalt, *c.Providers[0].Router.LoadCap,
		*c.Models[0].Targets[0].Weight, c.Models[0].Targets[0].Context,
	}
	want := []any{Size(32 << 20), Limits{RPM: 1_000_000, InputTPM: 1_000_000, OutputTPM: 600, USDPerDay: 40}, 3, false, 1.5, 5, Count(128_000)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Where a tool has changed what was said, it is told in place of taken.
func TestWhatOtherToolsChangeIsRefused(t *testing.T) {
	const advice = "expected text, got the boolean true: put quotes around it, and around yes, no, on and off"
	for _, test := range []refusal{
		{"a word that was yes", "tenants:", "filters: [{name: a, kind: keyword, words: [x, true]}]\ntenants:", "line 2: filters[0].words[1]: " + advice},
		{"a name that was on", "name: search", "name: true", "line 3: tenants[0].name: " + advice},
		{"a model that was off", "model: tiny", "model: False", "models[0].targets[0].model: expected text, got the boolean False"},
		{"a name that is nothing", "model: tiny", "model: null", "line 12: models[0].targets[0].model has no value"},
		{"an octal number", "    keys:", "    limits: {rpm: 0600}\n    keys:", `rpm: expected a whole number from 1 to 1000G, like 600, got "0600": write it without the leading zero`},
		{"an octal weight", "model: tiny", "model: tiny, weight: 010", `got "010": write it without the leading zero`},
		{"the key on twice", "tenants:", "filters: [{name: a, kind: keyword, words: [x], on: both, true: input}]\ntenants:", `line 2: key "on" in filters[0] appears twice`},
		{"the key on where there is none", "    keys:", "    true: x\n    keys:", `line 4: unknown key "true" in tenants[0]`},
		{"what stands behind it", "tenants:", "filters: [{name: a, kind: keyword, words: [x], true: bth}]\ntenants:", `line 2: filter "a": unknown on "bth", did you mean "both"?`},
		{"a number in quotes that is none", "model: tiny", `model: tiny, weight: ""`, `expected a whole number from 0 to 1M, got ""`},
		{"a switch in quotes that is none", "    kind:", "    cache_salt: 'none'\n    kind:", `expected true or false, got "none"`},
	} {
		t.Run(test.name, func(t *testing.T) { test.check(t, minimal) })
	}
}

// No key but on is anything but text to readers of YAML 1.1.
func TestNoKeyIsABooleanToOtherTools(t *testing.T) {
	seen := map[string]bool{}
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
			seen[key] = true
			visit(at.Field(i).Type)
		}
	}
	visit(reflect.TypeFor[Config]())
	for key := range seen {
		if slices.Contains([]string{"y", "n", "yes", "no", "off", "true", "false", "null", "~", "="}, strings.ToLower(key)) {
			t.Errorf("the key %q does not survive other tools", key)
		}
	}
	if !seen["on"] || len(seen) < 80 {
		t.Errorf("%d keys seen", len(seen))
	}
}
