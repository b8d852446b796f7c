package reports

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A terminal obeys nothing that stands in a cell, and columns stay columns.
func TestCellsAreNoOrdersToATerminal(t *testing.T) {
	rows := [][]string{{"a\x1b[2Jb", "1"}, {"c\nd", "2"}}
	var b strings.Builder
	if _, err := (Table{Rows: rows}).Printable().WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff("a\\x1b[2Jb  1\nc d        2\n", b.String()); diff != "" {
		t.Errorf("table (-want +got):\n%s", diff)
	}
	if rows[0][0] != "a\x1b[2Jb" {
		t.Error("the rows themselves have changed")
	}
}
