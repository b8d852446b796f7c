package mock

import (
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

const ms = time.Millisecond

func TestParseScript(t *testing.T) {
	tests := []struct {
		name, text string
		want       *Script
		err        string
	}{
		{"events", "pieces:\n- {at: 50ms, event: '{}'}\n- {at: 60ms, data: \"data: [DONE]\\n\\n\"}\n",
			&Script{Header: http.Header{}, Pieces: []Piece{{50 * ms, "data: {}\n\n"}, {60 * ms, Done}}}, ""},
		{"JSON", `{"status":503,"header":{"retry-after":"1"},"end":"reset","pieces":[{"data":"x"}]}`,
			&Script{Status: 503, Header: http.Header{"Retry-After": {"1"}}, Pieces: []Piece{{0, "x"}}, End: Reset}, ""},
		{"cut", "pieces: [{at: 1ms, data: abcde, cut: 2, gap: 1ms}]", &Script{Header: http.Header{}, Pieces: []Piece{{1 * ms, "ab"}, {2 * ms, "cd"}, {3 * ms, "e"}}}, ""},
		{"repeat", "pieces: [{data: a, repeat: 3, every: 2ms}]\nend: hang", &Script{Header: http.Header{}, Pieces: []Piece{{0, "a"}, {2 * ms, "a"}, {4 * ms, "a"}}, End: Hang}, ""},
		{"for ever", "pieces: [{data: a}]\nend: repeat\nevery: 5ms\nraw: true", &Script{Header: http.Header{}, Raw: true, Pieces: []Piece{{0, "a"}}, End: Repeat, Every: 5 * ms}, ""},
		{"empty", "", nil, "the script is empty, expected pieces"},
		{"unknown key", "peices: []", nil, `key "peices" is not known`},
		{"both", "pieces: [{data: a, event: b}]", nil, "piece 1: expected either data or event"},
		{"neither", "pieces: [{at: 1ms}]", nil, "piece 1: expected either data or event"},
		{"backwards", "pieces: [{at: 2ms, data: a}, {at: 1ms, data: b}]", nil, "piece 2: at 1ms is before the piece before it, at 2ms"},
		{"end", "end: clos", nil, `unknown end "clos", expected one of close, abort, hang, reset, drop, repeat, did you mean "close"?`},
		{"no interval", "pieces: [{data: a}]\nend: repeat", nil, "end repeat takes at least one piece and an interval above 0 (every: 10ms)"},
		{"interval for nothing", "every: 1s", nil, "every: 1s has no effect without end: repeat"},
		{"gap for nothing", "pieces: [{data: a, gap: 1ms}]", nil, "piece 1: gap has no effect without cut"},
		{"every for nothing", "pieces: [{data: a, every: 1ms}]", nil, "piece 1: every has no effect without repeat: 2 or more"},
		{"negative", "pieces: [{data: a, cut: -1}]", nil, "piece 1: cut, gap, repeat and every must not be negative"},
		{"too long", "pieces: [{data: abcd, cut: 1, repeat: 1000000}]", nil, "piece 1: the script has more than 1048576 writes or 268435456 bytes"},
		{"status", "status: 99", nil, "status 99 is outside 200 to 599"},
		{"header", "header: {'a b': c}", nil, `header "a b": expected a name and a value on one line`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseScript([]byte(tt.text))
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %s", err, tt.err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Script{})); diff != "" || err != nil {
				t.Errorf("script (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

func FuzzParseScript(f *testing.F) {
	f.Add("pieces: [{at: 1ms, data: abcde, cut: 2, gap: 1ms}]\nend: hang\n")
	f.Add(`{"status":503,"header":{"a":"1"},"end":"repeat","every":"5ms","raw":true,"pieces":[{"event":"x","repeat":3,"every":"1ms"}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseScript([]byte(text))
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		if err := s.check(); err != nil {
			t.Errorf("a script that can not be played: %v", err)
		}
		at := time.Duration(0)
		for i := range min(len(s.Pieces), 1000) {
			if s.Pieces[i].At < at {
				t.Fatalf("piece %d at %s, after one at %s", i, s.Pieces[i].At, at)
			}
			at = s.Pieces[i].At
		}
	})
}

// The example in the documentation is a script.
func TestDocumentedScript(t *testing.T) {
	page, err := os.ReadFile("../../docs/mock.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "```yaml\n")
	text, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		t.Fatal("no example in the page")
	}
	if s, err := ParseScript([]byte(text)); err != nil || len(s.Pieces) != 1+10+5 {
		t.Errorf("%+v, %v", s, err)
	}
}
