package conform

import (
	"strings"
	"testing"
)

// A terminal obeys nothing that an endpoint says.
func TestReportsAreNoOrdersToATerminal(t *testing.T) {
	const evil = "m\x1b[31m\u202e\r\x07"
	r := &Report{Endpoint: evil, Model: evil, Server: evil, Results: []Result{
		{ID: "a/b", Verdict: Fail, Level: Must, Sent: evil, Expected: evil, Seen: evil}, {ID: "a/c", Verdict: Skip, Reason: evil},
	}}
	var text, markdown strings.Builder
	if err := WriteText(&text, r, 80, false); err != nil {
		t.Fatal(err)
	}
	if err := WriteMarkdown(&markdown, r); err != nil {
		t.Fatal(err)
	}
	for _, got := range []string{text.String(), markdown.String()} {
		if strings.ContainsAny(got, "\x1b\x07\r\u202e") || !strings.Contains(got, `m\x1b[31m\u202e`) {
			t.Errorf("%q", got)
		}
	}
	if r.Model != evil || r.Results[0].Seen != evil {
		t.Error("the report itself has changed")
	}
}
