package house

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/llmctl/llmctl/"

// A file is one parsed Go file of the repository.
type file struct {
	path    string // relative to the root, with slashes
	pkg     string // folder, relative to the root
	ast     *ast.File
	imports []string
	test    bool
}

// repository parses every Go file of the module.
func repository(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(root, "go.mod")); err != nil {
		t.Fatalf("%s is not the module's root: %v", root, err)
	}
	var files []file
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		f := file{path: rel, ast: parsed, test: strings.HasSuffix(rel, "_test.go")}
		f.pkg = strings.TrimSuffix(rel[:strings.LastIndex("/"+rel, "/")], "/")
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			f.imports = append(f.imports, name)
		}
		files = append(files, f)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("found only %d Go files; the walk is broken", len(files))
	}
	return files
}

// leaves may be imported by everything, and import only each other.
var leaves = []string{
	"profiles", "reports/record", "reports/stats", "sizing/cost", "sizing/shape", "loadgen/workload", "loadgen/search", "internal",
}

// mayImport says what else each part may import, by folder and everything below
// it. A part always may import itself.
var mayImport = map[string][]string{
	"cmd":                {"sizing", "simulator", "loadgen", "engine", "gateway", "reports"},
	"simulator":          {"engine/sched", "engine/kv", "gateway/limit", "gateway/route", "gateway/queue", "gateway/health"},
	"simulator/study":    {"simulator", "engine/sched", "sizing", "reports"},
	"simulator/accuracy": {"simulator", "sizing", "reports"},
	"sizing":             {},
	"reports":            {"sizing"},
	"loadgen":            {},
	"engine":             {},
	"gateway":            {},
	"engine/kv":          {},
	"engine/sched":       {"engine/kv"},
	"engine/chat":        {},
	"engine/model":       {"engine/kv"},
	"engine/load":        {"engine/model"},
	"engine/reference":   {"engine/model"},
	"engine/quality":     {"engine/model", "engine/kv", "engine/cpu", "engine/load", "engine/reference"},
	"engine/cpu":         {"engine/cpu", "engine/model", "engine/kv", "engine/sched", "engine"},
	"engine/modeled":     {"engine/kv", "engine/sched", "engine"},
	"engine/server":      {"engine", "engine/sched", "engine/kv", "engine/chat", "engine/grammar"},
	"engine/grammar":     {},
	"gateway/limit":      {},
	"gateway/store":      {"gateway/limit"},
	"gateway/route":      {},
	"gateway/queue":      {},
	"gateway/health":     {},
	"gateway/config":     {},
	"gateway/check":      {},
	"gateway/picker":     {"gateway/config", "gateway/fleet", "gateway/route"},
	"gateway/fleet":      {"gateway/config", "gateway/health", "gateway/queue", "gateway/route"},
	"gateway/anthropic":  {},
	"gateway/websocket":  {},
	"gateway/reload":     {"gateway/config"},
	"gateway/certs":      {"gateway/config"},
	"gateway/segments":   {},
	"gateway/usage":      {},
	"gateway/telemetry":  {},
	"gateway/page":       {},
	"reports/tui":        {"reports"},
	"reports/record":     nil, // leaves: see below
	"reports/stats":      nil,
	"sizing/cost":        nil,
	"sizing/shape":       nil,
	"loadgen/mock":       {},
	"loadgen/search":     nil,
	"loadgen/conform":    {"loadgen/client"},

	"gateway/idempotency": {"gateway/cache"},
}

// The pure policies may not know the rest of their own folder either.
var strict = []string{
	"simulator", "engine/kv", "engine/sched", "engine/chat", "engine/grammar", "engine/model", "engine/cpu", "engine/modeled",
	"gateway/limit", "gateway/route", "gateway/queue", "gateway/health", "gateway/config", "gateway/check", "loadgen/mock",
	"gateway/websocket",
}

func under(pkg, dir string) bool { return pkg == dir || strings.HasPrefix(pkg, dir+"/") }

func within(pkg string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return under(pkg, d) })
}

// part is the longest key of mayImport that pkg lies under.
func part(pkg string) string {
	best := ""
	for p := range mayImport {
		if under(pkg, p) && len(p) > len(best) {
			best = p
		}
	}
	return best
}

func allowed(from, to string) bool {
	if within(to, leaves) {
		return true
	}
	if within(from, leaves) {
		return false
	}
	p := part(from)
	if within(to, mayImport[p]) {
		return true
	}
	return !slices.Contains(strict, p) && under(to, p) || from == to
}

// testsMayImport names what tests hold their package against: the plan's closed
// form against the engine's own scheduler, the load generator against the
// simulator, which must send the same.
var testsMayImport = map[string][]string{"engine/cpu": {"engine/reference"}, "sizing": {"engine/sched", "engine/kv"}, "loadgen": {"simulator", "engine/sched"}}

func TestImportDirection(t *testing.T) {
	for _, f := range repository(t) {
		if f.test && strings.HasSuffix(f.ast.Name.Name, "_test") {
			continue // an external test may set up its surroundings
		}
		if !within(f.pkg, leaves) && part(f.pkg) == "" {
			t.Errorf("%s: the folder %q has no place in the import direction; give it one here", f.path, f.pkg)
		}
		for _, name := range f.imports {
			to, ours := strings.CutPrefix(name, module)
			if f.test && within(to, testsMayImport[f.pkg]) {
				continue
			}
			if ours && !allowed(f.pkg, to) {
				t.Errorf("%s imports %s: against the direction of imports (docs/architecture.md)", f.path, to)
			}
		}
	}
}

// forbidden libraries, and the folders that may use them all the same.
var forbidden = map[string]struct {
	only   []string
	reason string
}{
	"github.com/spf13/cobra":      {[]string{"cmd"}, "only commands know the command line"},
	"charm.land/bubbletea/v2":     {[]string{"reports/tui"}, "only the live view knows the terminal library"},
	"github.com/stretchr/testify": {nil, "tests compare with go-cmp and plain ifs"},
	"math/rand":                   {nil, "use math/rand/v2, whose generators are counted and portable"},
}

func TestForbiddenImports(t *testing.T) {
	for _, f := range repository(t) {
		for _, name := range f.imports {
			if rule, ok := forbidden[name]; ok && !within(f.pkg, rule.only) {
				t.Errorf("%s imports %s: %s", f.path, name, rule.reason)
			}
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, f := range repository(t) {
		if f.test {
			continue
		}
		text := f.ast.Doc.Text()
		documented[f.pkg] = documented[f.pkg] || strings.HasPrefix(text, "Package ") || strings.HasPrefix(text, "Command ")
	}
	for pkg, ok := range documented {
		if !ok {
			t.Errorf("package %s has no package comment that begins with “Package”", pkg)
		}
	}
}

// selectors that reach for the process itself, and who may use them.
var process = []struct {
	pkg, name string
	only      []string
}{
	{"os", "Exit", []string{"cmd/llmctl/main.go", "cmd/llmctl/main_test.go", "cmd/accuracy/main.go", "cmd/constants/main.go", "cmd/benchload/main.go", "cmd/benchgateway/main.go", "cmd/benchengine/main.go", "cmd/benchsim/main.go", "cmd/quality/main.go", "cmd/accuracysim/main.go"}},
	{"os", "Stdin", []string{"internal/iostreams"}},
	{"os", "Stdout", []string{"internal/iostreams"}},
	{"os", "Stderr", []string{"internal/iostreams"}},
	{"os", "Getenv", []string{"internal/iostreams", "cmd/llmctl/main_test.go", "cmd/llmctl/integration_test.go", "cmd/llmctl/openai_engine_integration_test.go", "engine/quality/smollm2_test.go"}},
	{"log", "Fatal", nil},
	{"log", "Fatalf", nil},
}

func TestOnlyTheEdgeTouchesTheProcess(t *testing.T) {
	for _, f := range repository(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok || x.Obj != nil {
				return true
			}
			for _, p := range process {
				if x.Name == p.pkg && sel.Sel.Name == p.name && !within(f.path, p.only) {
					t.Errorf("%s uses %s.%s, which belongs to %v alone", f.path, p.pkg, p.name, p.only)
				}
			}
			return true
		})
	}
}

func TestNothingIsLeftUndone(t *testing.T) {
	marks := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}
	for _, f := range repository(t) {
		for _, group := range f.ast.Comments {
			for _, mark := range marks {
				if strings.Contains(group.Text(), mark) {
					t.Errorf("%s: a comment says %s; do it, or file it", f.path, mark)
				}
			}
		}
	}
}

// The rules themselves are held to examples, so that a slip in them shows.
func TestAllowed(t *testing.T) {
	cases := []struct {
		from, to string
		want     bool
	}{
		{"cmd/llmctl", "engine/server", true},
		{"engine", "engine/sched", true},
		{"engine", "gateway", false},
		{"engine/server", "loadgen", false},
		{"engine/sched", "engine/kv", true},
		{"engine/kv", "engine/sched", false},
		{"engine/sched", "engine", false},
		{"gateway", "gateway/limit", true},
		{"gateway/limit", "gateway", false},
		{"loadgen", "reports", false},
		{"loadgen", "reports/record", true},
		{"reports", "sizing", true},
		{"sizing", "reports", false},
		{"sizing/cost", "profiles", true},
		{"profiles", "sizing", false},
		{"internal/openai", "engine", false},
		{"simulator", "engine/sched", true},
		{"simulator", "engine/server", false},
		{"reports/record", "reports", false},
	}
	for _, c := range cases {
		if got := allowed(c.from, c.to); got != c.want {
			t.Errorf("allowed(%s → %s) = %v, want %v", c.from, c.to, got, c.want)
		}
	}
}
