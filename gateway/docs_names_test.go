package gateway

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// writtenCodes are the codes of errors in the source of packages: what is given for one
// in a call, in a literal's field or in a variable of that name.
func writtenCodes(t *testing.T, folders ...string) map[string]bool {
	t.Helper()
	codes := map[string]bool{}
	text := func(e ast.Expr) {
		if l, ok := e.(*ast.BasicLit); ok && l.Kind == token.STRING {
			if s, err := strconv.Unquote(l.Value); err == nil && s != "" {
				codes[s] = true
			}
		}
	}
	named := func(e ast.Expr) bool {
		id, ok := e.(*ast.Ident)
		return ok && strings.EqualFold(id.Name, "code")
	}
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			callee := n.Fun
			if s, ok := callee.(*ast.SelectorExpr); ok {
				callee = s.Sel
			}
			if id, ok := callee.(*ast.Ident); ok && (id.Name == "NewError" || id.Name == "refusal") {
				text(n.Args[len(n.Args)-1])
			}
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if named(to) && i < len(n.Rhs) {
					text(n.Rhs[i])
				}
			}
		case *ast.ValueSpec:
			for i, to := range n.Names {
				if named(to) && i < len(n.Values) {
					text(n.Values[i])
				}
			}
		case *ast.KeyValueExpr:
			if named(n.Key) {
				text(n.Value)
			}
		case *ast.CompositeLit:
			if id, ok := n.Type.(*ast.Ident); ok && id.Name == "cut" {
				text(n.Elts[3])
			}
		}
		return true
	}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("source in %s: %v, %v", folder, files, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, look)
		}
	}
	return codes
}

// Every code that an error of the gateway's can have is in the table of errors, and the
// table has none that no error has.
func TestEveryErrorCodeIsDocumented(t *testing.T) {
	inCode := writtenCodes(t, ".", "check", "websocket", "anthropic", "idempotency", "usage")
	inDocs := map[string]bool{}
	_, section, _ := strings.Cut(readDocs(t), "\n## Errors\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, row := range regexp.MustCompile(`(?m)^\| \d+ \| ([^|]*) \|`).FindAllStringSubmatch(section, -1) {
		for _, code := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(row[1], -1) {
			inDocs[code[1]] = true
		}
	}
	if len(inCode) < 25 {
		t.Fatalf("only these codes were found: %v", slices.Sorted(maps.Keys(inCode)))
	}
	if diff := cmp.Diff(inCode, inDocs); diff != "" {
		t.Errorf("the table of errors (+) is not as the code (-):\n%s", diff)
	}
}

// Every header of the gateway's own is in the tables of headers, and those have none that
// no code reads or writes.
func TestEveryHeaderIsDocumented(t *testing.T) {
	_, section, _ := strings.Cut(readDocs(t), "\n## Headers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	inDocs, inCode := map[string]bool{}, map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([^|]*) \|`).FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`(x-llmctl-[a-z-]+)").FindAllStringSubmatch(row[1], -1) {
			inDocs[strings.TrimSuffix(name[1], "-")] = true
		}
	}
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			for _, header := range regexp.MustCompile(`"(X-Llmctl-[A-Za-z-]+)"`).FindAllStringSubmatch(readFile(t, name), -1) {
				switch header[1] {
				case "X-Llmctl-": // what headers of requests begin with
				case upstreamPrefix:
					for _, k := range kinds {
						inCode[strings.ToLower(upstreamPrefix+strings.TrimSuffix(k.limits(), "-"))] = true
					}
				default:
					inCode[strings.ToLower(header[1])] = true
				}
			}
		}
	}
	if diff := cmp.Diff(inCode, inDocs); diff != "" {
		t.Errorf("the tables of headers (+) are not as the code (-):\n%s", diff)
	}
}
