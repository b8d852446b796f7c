package record

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestPrintable(t *testing.T) {
	for _, tc := range []struct{ name, in, want string }{
		{"plain", `llama-3.1 "8b" \x1b`, `llama-3.1 "8b" \x1b`},
		{"letters of any script", "modèle 模型 🦙", "modèle 模型 🦙"},
		{"escape sequence", "m\x1b[31;1mred\x1b[0m", `m\x1b[31;1mred\x1b[0m`},
		{"title of the window", "m\x1b]0;owned\a", `m\x1b]0;owned\a`},
		{"C1 control", "m\u009b2J", `m\u009b2J`},
		{"lines", "a\r\nb\tc\u2028d", "a  b c d"},
		{"backspace and delete", "ok\b\b\x7f", `ok\b\b\x7f`},
		{"direction of writing", "a\u202eb", `a\u202eb`},
		{"zero width", "a\u200bb", `a\u200bb`},
		{"NUL", "a\x00", `a\x00`},
		{"not UTF-8", "a\xff", "a\uFFFD"},
		{"empty", "", ""},
	} {
		if got := Printable(tc.in); got != tc.want {
			t.Errorf("%s: Printable(%q) = %q, want %q", tc.name, tc.in, got, tc.want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.String().Draw(t, "text")
		out := Printable(in)
		if i := strings.IndexFunc(out, func(r rune) bool { return !unicode.IsGraphic(r) }); i >= 0 || Printable(out) != out {
			t.Fatalf("Printable(%q) = %q, then %q", in, out, Printable(out))
		}
	})
}

// No text of a record or of a run may be forgotten: JSON shows control
// characters as \u001b.
func TestCleanReachesEveryText(t *testing.T) {
	const evil = "\x1b[2J"
	r := full()
	r.Tenant, r.Class, r.Model, r.RequestID, r.Detail, r.FinishReason = evil, evil, evil, evil, evil, evil
	r.TokensSource, r.Outcome, r.Failure = evil, evil, evil
	r.Clean()
	if line := string(r.AppendJSON(nil)); strings.Contains(line, `\u001b`) || strings.Count(line, `\\x1b`) != 9 {
		t.Errorf("record %s", line)
	}
	text, err := json.Marshal(exampleRun())
	if err != nil {
		t.Fatal(err)
	}
	var fields any
	if err := json.Unmarshal(text, &fields); err != nil {
		t.Fatal(err)
	}
	if text, err = json.Marshal(infect(fields, evil)); err != nil {
		t.Fatal(err)
	}
	var run, before Run
	if err := json.Unmarshal(text, &run); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(text, &before) // as above
	clean := run.Clean()
	clean.Scenario = nil
	out, err := json.Marshal(clean)
	if err != nil || strings.Contains(string(out), `\u001b`) || strings.Count(string(out), `\\x1b`) < 15 {
		t.Errorf("run %s, %v", out, err)
	}
	if again, _ := json.Marshal(run); !cmp.Equal(mustMarshal(t, before), string(again)) {
		t.Error("Clean changed the run that it was given")
	}
}

func mustMarshal(t *testing.T, run Run) string {
	t.Helper()
	text, err := json.Marshal(run)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// infect puts a text before each string of a JSON value that is no time.
func infect(v any, evil string) any {
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "1970-") {
			return v
		}
		return evil + v
	case []any:
		for i := range v {
			v[i] = infect(v[i], evil)
		}
	case map[string]any:
		for k := range v {
			v[k] = infect(v[k], evil)
		}
		if reasons, ok := v["finished"].(map[string]any); ok { // whose keys are the server's
			for reason, n := range reasons {
				delete(reasons, reason)
				reasons[evil+"r"] = n
			}
		}
	}
	return v
}
