package conform_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/conform"
)

const (
	document = "../../docs/conformance.md"
	begin    = "<!-- cases: written by go test ./loadgen/conform -run TestDocument -update -->\n"
	table    = "<!-- results: written by the same -->\n"
	end      = "<!-- end -->\n"
)

// docs/conformance.md has every case as the code has it, and what the servers in
// testdata/peers.json were found to do.
func TestDocument(t *testing.T) {
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	var cases bytes.Buffer
	if err := conform.WriteCatalogue(&cases); err != nil {
		t.Fatal(err)
	}
	got := between(t, string(text), begin, cases.String())
	got = between(t, got, table, peersTable(t))
	if *update {
		if err := os.WriteFile(document, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), got); diff != "" {
		t.Errorf("docs/conformance.md is not what the code says, rewrite it with -update (-have +want):\n%s", diff)
	}
}

// between replaces what stands from a mark to the next end.
func between(t *testing.T, text, mark, with string) string {
	t.Helper()
	head, rest, found := strings.Cut(text, mark)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has no %q, or no %q after it", document, mark, end)
	}
	return head + mark + with + end + tail
}

// peer is a server as it was found: its name and version, and each case's mark.
type peer struct {
	Name     string            `json:"name"`
	Version  string            `json:"version"`
	Date     string            `json:"date"`
	Verdicts map[string]string `json:"verdicts"`
}

func peersTable(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "peers.json"))
	if err != nil {
		t.Fatal(err)
	}
	var peers []peer
	if err := json.Unmarshal(data, &peers); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("\n| case | level |")
	for _, p := range peers {
		fmt.Fprintf(&b, " %s |", p.Name)
	}
	b.WriteString("\n|---|---|" + strings.Repeat("---|", len(peers)) + "\n| version | |")
	for _, p := range peers {
		fmt.Fprintf(&b, " %s |", p.Version)
	}
	b.WriteString("\n")
	failed := make([]map[conform.Level]int, len(peers))
	for i := range failed {
		failed[i] = map[conform.Level]int{}
	}
	for _, c := range conform.Cases() {
		fmt.Fprintf(&b, "| %s | %s |", c.ID, c.Level)
		for i, p := range peers {
			mark := p.Verdicts[c.ID]
			if mark == "✗" {
				failed[i][c.Level]++
			}
			fmt.Fprintf(&b, " %s |", mark)
		}
		b.WriteString("\n")
	}
	b.WriteString("| **failed** | must, should, info |")
	for _, f := range failed {
		fmt.Fprintf(&b, " %d, %d, %d |", f[conform.Must], f[conform.Should], f[conform.Info])
	}
	return b.String() + "\n\n"
}

func TestCasesAreWellFormed(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range conform.Cases() {
		if seen[c.ID] || strings.Count(c.ID, "/") != 1 || strings.ToLower(c.ID) != c.ID {
			t.Errorf("%s: named twice, or no slug of a group and a name", c.ID)
		}
		seen[c.ID] = true
		if _, name, _ := strings.Cut(c.ID, "/"); len(name) > 21 {
			t.Errorf("%s: the name is too long for the table", c.ID)
		}
		for what, text := range map[string]string{"title": c.Title, "why": c.Why, "sends": c.Sends, "expect": c.Expect} {
			if text == "" || strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
				t.Errorf("%s: its %s is %q, expected a phrase", c.ID, what, text)
			}
		}
		if !slices.Contains(conform.Levels, c.Level) || !slices.Contains(conform.Suites, c.Suite) {
			t.Errorf("%s: level %q, suite %q", c.ID, c.Level, c.Suite)
		}
	}
}
