package config

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmctl/llmctl/internal/units"
)

// documented is a row of the tables of docs/gateway-configuration.md.
type documented struct{ name, span, otherwise string } // the last is the default

var (
	quotedName = regexp.MustCompile("`([^`]+)`")
	headOfList = regexp.MustCompile(`^\*\*([a-z]+)\*\*, a list`)
)

// configurationTables are the rows by the path of their key.
func configurationTables(t *testing.T) map[string]documented {
	t.Helper()
	data, err := os.ReadFile("../../docs/gateway-configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	rows, prefix := map[string]documented{}, ""
	for line := range strings.Lines(string(data)) {
		if list := headOfList.FindStringSubmatch(line); list != nil {
			prefix = list[1] + "[]."
		} else if strings.HasPrefix(line, "An [endpoint picker") {
			prefix = "" // its keys are written out
		}
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			t.Fatalf("%d columns, want key, meaning, range and default: %s", len(cells), line)
		}
		parent := ""
		for _, m := range quotedName.FindAllStringSubmatch(cells[0], -1) {
			name := m[1]
			if strings.HasPrefix(name, ".") {
				name = parent + name
			}
			parent = name[:max(0, strings.LastIndex(name, "."))]
			if _, twice := rows[prefix+name]; twice {
				t.Errorf("%s has two rows", prefix+name)
			}
			rows[prefix+name] = documented{prefix + name, strings.TrimSpace(cells[2]), strings.TrimSpace(cells[3])}
		}
	}
	return rows
}

// keys are all keys of the configuration that hold a value or a list of values, by
// their path.
func keys(at reflect.Type, path string, all map[string]reflect.StructField) {
	for i := range at.NumField() {
		f := at.Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		below, inner := strings.TrimPrefix(path+"."+key, "."), elem(f.Type)
		if inner.Kind() == reflect.Slice && inner.Elem().Kind() == reflect.Struct {
			below, inner = below+"[]", inner.Elem()
		}
		if inner.Kind() == reflect.Struct {
			keys(inner, below, all)
			continue
		}
		all[below] = f
	}
}

// rowOf is the row of a key: its own, or that of what it is a part of.
func rowOf(rows map[string]documented, path string) (row documented, ok bool) {
	for name := path; name != ""; {
		if row, ok = rows[name]; ok {
			return row, true
		}
		if trimmed, list := strings.CutSuffix(name, "[]"); list {
			name = trimmed
			continue
		}
		name = name[:max(0, strings.LastIndex(name, "."))]
	}
	return documented{}, false
}

// choices are what keys of words may be.
var choices = map[string][]string{
	"store.when_down":           {WhenDownRefuse, WhenDownLocal},
	"filters[].kind":            {FilterKeyword, FilterRegex},
	"filters[].on":              {OnInput, OnOutput, OnBoth},
	"providers[].kind":          Kinds(),
	"providers[].metrics":       {"vllm", "sglang", "trtllm", "llmctl", "auto", MetricsNone},
	"providers[].router.policy": {PolicyPrefixAffinity, PolicyLeastLoaded, PolicyRoundRobin},
	"models[].sticky":           {StickyRequest, StickyTenant, StickySession},
	"models[].response_model":   {ResponseUpstream, ResponseAlias},
}

// defaultsOf are the constants of defaults.go by the key that they stand in for.
var defaultsOf = map[string]any{
	"models[].timeouts.first_token":     time.Duration(DefaultFirstToken),
	"models[].timeouts.idle":            time.Duration(DefaultIdle),
	"models[].timeouts.total":           time.Duration(DefaultTotal),
	"max_body":                          Size(DefaultMaxBody),
	"max_answer":                        Size(DefaultMaxAnswer),
	"store.timeout":                     time.Duration(DefaultStoreTimeout),
	"idempotency.ttl":                   time.Duration(DefaultIdempotency),
	"providers[].metrics_every":         time.Duration(DefaultMetricsEvery),
	"providers[].max_queue":             DefaultMaxQueue,
	"providers[].queue_timeout":         time.Duration(DefaultQueueTimeout),
	"models[].retry.attempts":           DefaultAttempts,
	"models[].retry.backoff":            time.Duration(DefaultBackoff),
	"models[].retry.budget":             DefaultRetryBudget,
	"models[].cache.ttl":                time.Duration(DefaultCacheTTL),
	"cache_size":                        Size(DefaultCacheSize),
	"models[].cache.semantic.timeout":   time.Duration(DefaultEmbedding),
	"models[].cache.semantic.threshold": DefaultSimilarity,
}

// Each key has a row with its range, its choices and its default, and they are those
// of the code.
func TestRangesAndDefaultsInTheDocsAreTrue(t *testing.T) {
	rows, all := configurationTables(t), map[string]reflect.StructField{}
	keys(reflect.TypeFor[Config](), "", all)
	delete(all, "models[].targets[].when_saturated") // of fallbacks alone
	for _, path := range slices.Sorted(maps.Keys(all)) {
		row, ok := rowOf(rows, path)
		if !ok || row.otherwise == "" {
			t.Errorf("%s has no row, or one without a default: %v", path, row)
			continue
		}
		if row.name != path {
			continue // told as a whole, elsewhere
		}
		if s, ok := spanOf(all[path]); ok && row.span != s.String() {
			t.Errorf("%s: the docs say %q, the code %q", path, row.span, s)
		}
		if list := choices[path]; list != nil && row.span != "`"+strings.Join(list, "`, `")+"`" {
			t.Errorf("%s: the docs say %q, the code %q", path, row.span, list)
		}
		if value, ok := defaultsOf[path]; ok && row.otherwise != written(value) {
			t.Errorf("%s: the docs say %q by default, the code %q", path, row.otherwise, written(value))
		}
	}
	for name := range rows {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(path string) bool {
			return path == name || strings.HasPrefix(path, name+".") || strings.HasPrefix(path, name+"[]")
		}) {
			t.Errorf("the docs have a key %q that there is not", name)
		}
	}
	for path := range choices {
		if _, ok := all[path]; !ok {
			t.Errorf("choices of %s, which is no key", path)
		}
	}
}

// written is a value as the docs and people write it.
func written(value any) string {
	switch v := value.(type) {
	case time.Duration:
		for _, unit := range []struct {
			of   time.Duration
			name string
		}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
			if v%unit.of == 0 {
				return fmt.Sprintf("%d%s", v/unit.of, unit.name)
			}
		}
		return v.String()
	case Size:
		return strings.ReplaceAll(units.Bytes(int64(v)), " ", "")
	}
	return fmt.Sprint(value)
}

// A default that is new in the code has to be looked for in the docs.
func TestEveryDefaultIsLookedForInTheDocs(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "defaults.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.CONST {
			constants += len(g.Specs)
		}
	}
	if constants != len(defaultsOf) {
		t.Errorf("defaults.go has %d constants, the test of the docs %d", constants, len(defaultsOf))
	}
}
