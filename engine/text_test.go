package engine

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/internal/tokenizer"
)

// TestStopStrings checks the stream against the definition: the text up to where
// the first stop string begins.
func TestStopStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		alphabet := rapid.StringOfN(rapid.RuneFrom([]rune("ab é🙂")), 0, 30, -1)
		whole := alphabet.Draw(t, "text")
		stops := rapid.SliceOfN(rapid.StringOfN(rapid.RuneFrom([]rune("ab é🙂")), 1, 4, -1), 0, 3).Draw(t, "stops")
		want, stopped := whole, false
		for n := range len(whole) + 1 {
			// The shortest beginning of the text that contains a stop string
			// is where generation ends.
			if at, ok := firstStop(whole[:n], stops); ok {
				want, stopped = whole[:at], true
				break
			}
		}
		x := text{stops: stops, decoder: new(tokenizer.Stream)}
		var got strings.Builder
		done := false
		for _, b := range []byte(whole) {
			ready, stop := x.push(8 + int32(b)) // one token per byte, the hardest case
			if !utf8.ValidString(ready) {
				t.Fatalf("part %q is not UTF-8", ready)
			}
			got.WriteString(ready)
			if done = stop != ""; done {
				break
			}
		}
		got.WriteString(x.flush())
		if got.String() != want || done != stopped {
			t.Fatalf("text %q with stops %q: got %q (stopped: %v), want %q (%v)", whole, stops, got.String(), done, want, stopped)
		}
	})
}

func firstStop(text string, stops []string) (at int, ok bool) {
	at = len(text)
	for _, s := range stops {
		if i := strings.Index(text, s); i >= 0 {
			at, ok = min(at, i), true
		}
	}
	return at, ok
}

func TestTextIsHeldOnlyWhileAStopMayBegin(t *testing.T) {
	for _, c := range []struct {
		name   string
		stops  []string
		tokens string // one token per byte
		want   []string
		flush  string
	}{
		{"no stops", nil, "abc", []string{"a", "b", "c"}, ""},
		{"nothing like it", []string{"xyz"}, "abc", []string{"a", "b", "c"}, ""},
		{"begins and goes on otherwise", []string{"bcd"}, "abcx", []string{"a", "", "", "bcx"}, ""},
		{"begins at the end", []string{"bcd"}, "abc", []string{"a", "", ""}, "bc"},
		{"overlapping begin", []string{"aab"}, "aaab", []string{"", "", "a", ""}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := text{stops: c.stops, decoder: new(tokenizer.Stream)}
			var got []string
			for _, b := range []byte(c.tokens) {
				ready, _ := x.push(8 + int32(b))
				got = append(got, ready)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if rest := x.flush(); rest != c.flush {
				t.Errorf("flush: got %q, want %q", rest, c.flush)
			}
		})
	}
}

func TestStreamedCharactersAreWhole(t *testing.T) {
	for _, c := range []struct {
		name, text string
		limit      int // output tokens
		want       []string
	}{
		{"emoji over four tokens", "a🙂b", 6, []string{"a", "🙂", "b"}},
		{"combining", "e\u0301x", 4, []string{"e", "\u0301", "x"}},
		{"cut by the limit: the tail comes once, at the end", "a🙂", 3, []string{"a", "\xf0\x9f"}},
		{"invalid bytes", "\xffa", 2, []string{"\xff", "a"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var tokens []int32
			for _, b := range []byte(c.text) {
				tokens = append(tokens, 8+int32(b))
			}
			e := startFor(t, Config{Executor: says(tokens...)})
			got := collect(t, submit(t, e, Request{Tokens: []int32{tokenizer.BOS}, MaxTokens: c.limit}))
			if diff := cmp.Diff(c.want, got.Parts); diff != "" {
				t.Error(diff)
			}
		})
	}
}
