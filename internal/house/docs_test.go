package house

import (
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// documents reads the Markdown files of a folder, by name.
func documents(t *testing.T, pattern string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("documents %s: %v, %v", pattern, paths, err)
	}
	texts := map[string]string{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Clean(path)] = string(data)
	}
	return texts
}

// A case that names a test is held by it: a test that was renamed, or left out, is a
// case that nobody looks at.
func TestCasesNameTestsThatAreThere(t *testing.T) {
	there := map[string]bool{}
	for _, f := range repository(t) {
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test {
				there[fn.Name.Name] = true
			}
		}
	}
	for path, text := range documents(t, "../../docs/cases.md") {
		named := regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z]\w*`).FindAllString(text, -1)
		if len(named) < 100 {
			t.Fatalf("%s names %d tests", path, len(named))
		}
		for _, name := range named {
			if !there[name] {
				t.Errorf("%s: there is no %s", path, name)
			}
		}
	}
}

// fenced are blocks of code, in which nothing is a link or a heading.
var fenced = regexp.MustCompile("(?ms)^```.*?^```")

// anchors are the fragments by which headings of a document are addressed, as GitHub
// makes them.
func anchors(text string) map[string]bool {
	found := map[string]bool{}
	for _, h := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		var b strings.Builder
		for _, c := range strings.ToLower(strings.TrimSpace(h[1])) {
			switch {
			case unicode.IsLetter(c), unicode.IsDigit(c), c == '-', c == '_':
				b.WriteRune(c)
			case c == ' ':
				b.WriteByte('-')
			}
		}
		found[b.String()] = true
	}
	return found
}

// Every package has its row in the reading order.
func TestEveryPackageHasItsRow(t *testing.T) {
	text := documents(t, "../../docs/architecture.md")["../../docs/architecture.md"]
	_, order, found := strings.Cut(text, "\n## Reading order\n")
	order, _, _ = strings.Cut(order, "\n## ")
	named := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`[^|]*) \\|").FindAllStringSubmatch(order, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			named[name[1]] = true
		}
	}
	there := map[string]bool{}
	for _, f := range repository(t) {
		if !f.test || f.pkg == "internal/house" {
			there[f.pkg] = true
		}
	}
	if !found || len(there) < 60 {
		t.Fatalf("reading order found: %t; %d packages", found, len(there))
	}
	for name := range there {
		if !named[name] {
			t.Errorf("docs/architecture.md has no row for %s", name)
		}
	}
	for name := range named {
		if !there[name] {
			t.Errorf("docs/architecture.md has a row for %s, which is not there", name)
		}
	}
}

// Links of the documents to each other, and to files of the repository, lead somewhere.
func TestLinksOfTheDocumentsLead(t *testing.T) {
	texts := documents(t, "../../docs/*.md")
	for path, text := range documents(t, "../../*.md") {
		texts[path] = text
	}
	links := 0
	for path, text := range texts {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			file, fragment, _ := strings.Cut(link[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			links++
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: %s leads nowhere", path, link[1])
				continue
			}
			if target, ok := texts[to]; fragment != "" && ok && !anchors(target)[fragment] {
				t.Errorf("%s: %s has no heading %q", path, to, fragment)
			}
		}
	}
	if links < 100 {
		t.Errorf("only %d links were found", links)
	}
}
