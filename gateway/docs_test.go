package gateway

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

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

// documentedLabels are the labels of each metric in the tables of the documents: all
// words of the row's last cell that are not in brackets, nor behind a semicolon.
func documentedLabels(docs string) map[string][]string {
	labels := map[string][]string{}
	aside := regexp.MustCompile(`\([^)]*\)|;.*|–.*`)
	for _, row := range regexp.MustCompile("(?m)^\\| (`(?:llmctl_gateway|gen_ai)_[^|]*)\\|(?:[^|\n]*\\|)??([^|\n]*)\\|$").FindAllStringSubmatch(docs, -1) {
		for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			words := regexp.MustCompile(`\w+`).FindAllString(aside.ReplaceAllString(row[2], ""), -1)
			slices.Sort(words)
			labels[name[1]] = words
		}
	}
	return labels
}

// Every metric is in the tables of the documents, with the labels that it has.
func TestEveryMetricIsDocumented(t *testing.T) {
	inDocs := documentedLabels(readDocs(t))
	s, _ := followed(t, frozen(config.Limits{RPM: 1}, config.Limits{}))
	s.post(plainBody)
	s.post(plainBody)
	s.settled()
	others := lively(t)
	others.settled()
	seen := 0
	for _, g := range []*Gateway{s.gateway, others.gateway} {
		families, err := g.metrics.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, family := range families {
			name := family.GetName()
			if !strings.HasPrefix(name, "llmctl_") && !strings.HasPrefix(name, "gen_ai_") {
				continue
			}
			seen++
			var labels []string
			for _, l := range family.GetMetric()[0].GetLabel() {
				if !slices.Contains(genAILabels, l.GetName()) { // which are told for all at once
					labels = append(labels, l.GetName())
				}
			}
			slices.Sort(labels)
			if told, ok := inDocs[name]; !ok {
				t.Errorf("metric %s is not documented", name)
			} else if diff := cmp.Diff(labels, told, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("labels of %s in the documents (+) are not as they are (-):\n%s", name, diff)
			}
		}
	}
	if seen < 40 {
		t.Errorf("%d metrics seen", seen)
	}
}

// The package comment is a way through the package that passes each file once, and
// none that is not there.
func TestReadingOrderNamesEveryFile(t *testing.T) {
	named := map[string]int{}
	for _, name := range regexp.MustCompile(`\b\w+\.go\b`).FindAllString(readFile(t, "doc.go"), -1) {
		named[name]++
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]int{}
	for _, name := range files {
		if name != "doc.go" && !strings.HasSuffix(name, "_test.go") {
			there[name] = 1
		}
	}
	if diff := cmp.Diff(there, named); diff != "" {
		t.Errorf("the reading order (+) is not as the folder (-):\n%s", diff)
	}
}

// The architecture names every package of the gateway, and the steps of a request in
// the order in which complete takes them.
func TestArchitectureIsThatOfTheGateway(t *testing.T) {
	text := readFile(t, "../docs/architecture.md")
	packages, err := filepath.Glob("*/doc.go")
	if err != nil || len(packages) < 10 {
		t.Fatalf("packages %v, %v", packages, err)
	}
	for _, doc := range packages {
		if name := "`gateway/" + filepath.Base(filepath.Dir(doc)) + "`"; !strings.Contains(text, name) {
			t.Errorf("no row for %s", name)
		}
	}
	_, body, found := strings.Cut(readFile(t, "complete.go"), "func (x *exchange) complete() *failure {")
	body, _, end := strings.Cut(body, "\n}\n")
	if !found || !end {
		t.Fatal("no complete")
	}
	var steps []string
	for _, call := range regexp.MustCompile(`\b[xq]\.([a-zA-Z]+)\(`).FindAllStringSubmatch(body, -1) {
		if call[1] != "sketch" { // which is deferred
			steps = append(steps, call[1])
		}
	}
	_, section, found := strings.Cut(text, "\n## How a request passes the gateway\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var told []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\|").FindAllStringSubmatch(section, -1) {
		told = append(told, row[1])
	}
	if !found || len(steps) < 10 {
		t.Fatalf("section found: %t; steps %v", found, steps)
	}
	if diff := cmp.Diff(append(steps, "settle"), told); diff != "" {
		t.Errorf("the steps in the documents (+) are not as in the code (-):\n%s", diff)
	}
}

// Each library that the gateway is built with is among those of the architecture.
func TestLibrariesAreExplained(t *testing.T) {
	_, section, found := strings.Cut(readFile(t, "../docs/architecture.md"), "\n## Libraries, and why\n")
	if !found {
		t.Fatal("no section about libraries")
	}
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range file.Imports {
			name := strings.Trim(spec.Path.Value, `"`)
			if !strings.Contains(name, ".") || strings.HasPrefix(name, "github.com/llmctl/") {
				continue
			}
			parts := strings.Split(strings.TrimPrefix(name, "github.com/"), "/")
			seen[strings.Join(parts[:2], "/")] = true
		}
		return nil
	})
	if err != nil || len(seen) < 10 {
		t.Fatalf("%v, %v", seen, err)
	}
	for name := range seen {
		known := strings.Contains(section, name)
		switch name { // part of another one, or told by its last word
		case "prometheus/client_model", "google.golang.org/protobuf":
			known = true
		case "tidwall/sjson":
			known = strings.Contains(section, "sjson")
		}
		if !known {
			t.Errorf("%s is not explained", name)
		}
	}
}
