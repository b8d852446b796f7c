package segments

import (
	"fmt"
	"strings"
	"testing"
)

func TestWhatTextLooksLike(t *testing.T) {
	tests := []struct{ text, want string }{
		{"no digits here", ""},
		{"at 2026-11-30T10:20:30Z now", "timestamp:2026-11-30T10:20:30"},
		{"at 2026-11-30 10:20:30.123456 now", "timestamp:2026-11-30 10:20:30.123456"},
		{"at 11/30/2026, 9:05 PM now", "timestamp:11/30/2026, 9:05 PM"},
		{"30.11.2026 at 09:05", "timestamp:30.11.2026 at 09:05"},
		{"Monday, November 30, 2026 at 9:05am.", "timestamp:November 30, 2026 at 9:05am"},
		{"Mon, 30 Nov 2026 10:20:30 GMT", "timestamp:30 Nov 2026 10:20:30"},
		{"it is 10:20", "timestamp:10:20"},
		{"t=1764500000", "timestamp:1764500000"},
		{"t=1764500000123,", "timestamp:1764500000123"},
		{`a\n1764500000\n`, "timestamp:1764500000"},
		{"today is 2026-11-30.", "date:2026-11-30"},
		{"today is 2026/1/3", "date:2026/1/3"},
		{"Sept. 3rd, 2026", "date:Sept. 3rd, 2026"},
		{"3 march 2026", "date:3 march 2026"},
		{"maybe 3 2026", "number:3 number:2026"},
		{"id 123e4567-e89b-12d3-a456-426614174000 x", "uuid:123e4567-e89b-12d3-a456-426614174000"},
		{"id 123E4567-E89B-12D3-A456-42661417400", "number:123 number:4567 number:89 number:12 number:3 number:456 number:42661417400"},
		{"commit 9fceb02d0ae598e95dc9", "identifier:9fceb02d0ae598e95dc9"},
		{"trace deadbeefdeadbeef 0", "number:0"},
		{"request 4711, step 2", "number:4711 number:2"},
		{"at 10.0.0.5:8080", "number:10 number:0 number:0 number:5 number:8080"},
		{"v1.2 and gpt4", "number:1 number:2 number:4"},
		{"12345678901234", "number:12345678901234"},
		{"late 2026-11-30 and 123e4567-e89b-12d3-a456-426614174000", "uuid:123e4567-e89b-12d3-a456-426614174000 date:2026-11-30"},
		{"é 5", "number:5"},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			var words []string
			for _, f := range look(test.text, 0, len(test.text)) {
				words = append(words, fmt.Sprintf("%s:%s", f.kind, test.text[f.start:f.end]))
			}
			if got := strings.Join(words, " "); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// What only touches the range from outside is not looked at; what reaches into it
// is seen whole.
func TestOnlyWhatReachesIntoTheRangeIsFound(t *testing.T) {
	text := "1 2026-11-30 2"
	for _, test := range []struct{ from, to, found int }{{0, 1, 1}, {1, 2, 0}, {2, 3, 1}, {11, 12, 1}, {12, 13, 0}, {0, 14, 3}} {
		if got := look(text, test.from, test.to); len(got) != test.found {
			t.Errorf("[%d, %d): %v", test.from, test.to, got)
		}
	}
	if got := look(text, 5, 6); got[0] != (found{Date, 2, 12}) {
		t.Errorf("found %v", got)
	}
}

func TestNumbersThatCount(t *testing.T) {
	for _, test := range []struct {
		before, now string
		want        bool
	}{{"1", "2", true}, {"99999", "100000", true}, {"65535", "65536", true}, {"10", "8", true}, {"5", "5", false}, {"5", "5000", false}} {
		if got := counts(low(test.before), low(test.now)); got != test.want {
			t.Errorf("%s then %s: %t", test.before, test.now, got)
		}
	}
}

func FuzzLook(f *testing.F) {
	f.Add("at 2026-11-30T10:20:30Z", 3, 9)
	f.Add("Nov 3", 0, 5)
	f.Add(`\n1:0`, 0, 1)
	f.Fuzz(func(t *testing.T, text string, from, to int) {
		if from < 0 || to < from || to > len(text) {
			return
		}
		for _, x := range look(text, from, to) {
			if x.start < 0 || x.end > len(text) || x.start >= x.end || x.end <= from || x.start >= to {
				t.Errorf("%v in %q[%d:%d]", x, text, from, to)
			}
			if digits := text[x.start:x.end]; x.kind == Number && strings.Trim(digits, "0123456789") != "" {
				t.Errorf("the number %q", digits)
			}
		}
	})
}
