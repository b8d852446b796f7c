package conform

import (
	"fmt"
	"io"
	"strings"
)

// inCell keeps a text from ending its cell of a Markdown table.
var inCell = strings.NewReplacer("|", "\\|", "<", "&lt;", "*", "\\*", "`", "\\`", "\n", " ")

// WriteMarkdown writes a report for documents: what it is of, and a table.
func WriteMarkdown(w io.Writer, r *Report) error {
	r = r.printable()
	var b strings.Builder
	fmt.Fprintf(&b, "## Conformance of %s\n\nModel %s, suite %s: %s.\n\n", r.Endpoint, r.Model, r.Suite, r.Said())
	b.WriteString("| | case | level | seen |\n|---|---|---|---|\n")
	for i := range r.Results {
		c := &r.Results[i]
		seen := c.Seen
		if c.Verdict == Skip {
			seen = "skipped: " + c.Reason
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", marks[c.Verdict], c.ID, c.Level, inCell.Replace(seen))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// WriteCatalogue writes what every case does, for documents.
func WriteCatalogue(w io.Writer) error {
	var b strings.Builder
	group := ""
	for _, c := range Cases() {
		if c.Group() != group {
			group = c.Group()
			fmt.Fprintf(&b, "\n### %s\n", group)
		}
		suite := ""
		if c.Suite != Engine {
			suite = ", suite " + string(c.Suite)
		}
		if c.slow {
			suite += ", with --slow"
		}
		fmt.Fprintf(&b, "\n**%s** (%s%s): %s.\n", c.ID, c.Level, suite, escape(c.Title))
		fmt.Fprintf(&b, "Sent: %s. Expected: %s. Why: %s%s.\n", escape(c.Sends), escape(c.Expect), escape(c.Why), escape(from(c.Issue)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func escape(s string) string {
	return strings.NewReplacer("<", "&lt;", "*", "\\*", "[", "\\[").Replace(s)
}

func from(issue string) string {
	if issue == "" {
		return ""
	}
	return " (" + issue + ")"
}
