package check

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"pgregory.net/rapid"
)

func keywords(t testing.TB, words ...string) *Keywords {
	t.Helper()
	k, err := NewKeywords(words)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func pattern(t testing.TB, text string) *Pattern {
	t.Helper()
	p, err := NewPattern(text, true)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestKeywords(t *testing.T) {
	k := keywords(t, "ass", "credit card", "Straße", "c++", "Kelvin", "禁止", "été", "a b a c", " trimmed ")
	for text, want := range map[string]bool{
		"": false, "class": false, "assess": false, "ass": true, "an ASS!": true, "ass_": false, "the ass": true, "ass2": false, "ass.": true, "(ass)": true,
		"credit card": true, "Credit\nCard number": true, "credit cards": false, "creditcard": false, "credit credit card": true, "credit car": false,
		"straße": true, "STRAßE": true, "I know C++.": true, "c+": false, "c++11": true, "\u212Aelvin": true,
		"这是禁止的": true, "禁 止": false, "ÉTÉ": true, "étés": false, "a b a b a c": true, "trimmed": true,
	} {
		if got := k.Match(text); got != want {
			t.Errorf("%q matches: %v", text, got)
		}
	}
	for _, bad := range [][]string{nil, {}, {"a", " "}, {""}} {
		if _, err := NewKeywords(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestPatternsThatAreRefused(t *testing.T) {
	for _, test := range []struct {
		pattern string
		streams bool
		taken   bool
	}{
		{`(`, false, false}, {`a*`, false, false}, {``, false, false}, {`^a`, true, false}, {`x|\Aa`, true, false}, {`^a`, false, true}, {`(?m)^a`, true, true}, {`a$`, true, true}, {`(?=a)`, false, false},
	} {
		if _, err := NewPattern(test.pattern, test.streams); (err == nil) != test.taken {
			t.Errorf("pattern %q for streams %v: %v", test.pattern, test.streams, err)
		}
	}
}

func TestTheLongestMatchIsKnown(t *testing.T) {
	for text, want := range map[string]int{
		`abc`: 3, `a|bcd`: 3, `\d{3}-\d{2}-\d{4}`: 11, `a?b{2,5}`: 6, `(?i)\bstraße\b`: 6, `a+`: 0, `a{3,}`: 0, `.*x`: 0, `(ab){200}`: 0, `[a-z]é(x|yz)`: 4,
	} {
		if got := pattern(t, text).runes; got != want {
			t.Errorf("%q matches up to %d characters, want %d", text, got, want)
		}
	}
}

// stream runs a text through a window in the given pieces. passed is what was let
// out before the match, or all of it.
func stream(w Window, pieces []string) (passed int, matched bool) {
	for _, p := range pieces {
		hit, safe := w.Push(p)
		if hit {
			return passed, true
		}
		passed = max(passed, safe)
	}
	if w.End() {
		return passed, true
	}
	for _, p := range pieces {
		passed += len(p)
	}
	return passed, false
}

// However a text is cut into pieces, a stream matches when the whole does, and
// nothing of the first match is let out before.
func TestStreamsMatchAsWholesDo(t *testing.T) {
	matchers := map[string]struct {
		Matcher
		same *regexp.Regexp // finds where the first match begins
	}{
		"keywords":   {keywords(t, "ab", "a b", "b a b", "éa"), regexp.MustCompile(`(?i)(^|[^a-z0-9_é])(ab|a\sb|b\sa\sb|éa)($|[^a-z0-9_é])`)},
		"bounded":    {pattern(t, `ab?a|b{3}`), regexp.MustCompile(`ab?a|b{3}`)},
		"with edges": {pattern(t, `\bab\b`), regexp.MustCompile(`\bab\b`)},
		"at lines":   {pattern(t, `(?m)^ab$`), regexp.MustCompile(`(?m)^ab$`)},
		"at the end": {pattern(t, `ab$`), regexp.MustCompile(`ab$`)},
	}
	for name, m := range matchers {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				pieces := rapid.SliceOfN(rapid.StringOfN(rapid.SampledFrom([]rune("aabb \né_")), 0, 6, -1), 0, 12).Draw(t, "pieces")
				text := strings.Join(pieces, "")
				passed, matched := stream(m.Window(), pieces)
				if want := m.Match(text); matched != want {
					t.Fatalf("%q in pieces matches: %v, as a whole: %v", text, matched, want)
				}
				at := m.same.FindStringIndex(text)
				if (at != nil) != matched {
					t.Fatalf("%q matches: %v, the test's own pattern says otherwise", text, matched)
				}
				// The test's pattern for keywords takes the character before, too.
				if matched && passed > at[0]+2 {
					t.Fatalf("%d bytes of %q were out, the match begins at %d", passed, text, at[0])
				}
			})
		})
	}
}

func TestOnlyABeginningOfAKeywordIsHeldBack(t *testing.T) {
	w := keywords(t, "credit card").Window()
	for _, step := range []struct {
		piece string
		safe  int
	}{{"the ", 4}, {"cred", 4}, {"it", 4}, {" b", 12}, {"ox credit", 15}, {"or", 23}} {
		if matched, safe := w.Push(step.piece); matched || safe != step.safe {
			t.Errorf("after %q %d bytes are safe, want %d (matched: %v)", step.piece, safe, step.safe, matched)
		}
	}
}

func TestALongMatchOfAPatternIsFoundThoughItsBeginningIsOut(t *testing.T) {
	p := pattern(t, `BEGIN.*END`)
	w := p.Window()
	if matched, _ := w.Push("x BEGIN " + strings.Repeat("é", 60) + " END"); !matched {
		t.Error("a match within the window was missed")
	}
	w = p.Window()
	_, safe := w.Push("BEGIN" + strings.Repeat("é", PatternWindow))
	if want := 5 + 2*PatternWindow - PatternWindow; safe != want {
		t.Errorf("%d bytes are safe, want %d", safe, want)
	}
}

func TestTextIsFoundWhereverTheModelReadsIt(t *testing.T) {
	filters := []*Filter{{Name: "f", Matcher: keywords(t, "bad")}}
	for body, want := range map[string]bool{
		`{"messages":[{"role":"user","content":"a BAD thing"}]}`:                                                     true,
		`{"messages":[{"role":"system","content":"bad"},{"role":"user","content":"x"}]}`:                             true,
		`{"messages":[{"role":"user","content":[{"type":"text","text":"ok"},{"type":"text","text":"bad"}]}]}`:        true,
		`{"messages":[{"role":"tool","tool_call_id":"1","content":"bad"}]}`:                                          true,
		`{"messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":"{\"x\":\"bad\"}"}}]}]}`: true,
		`{"messages":[{"role":"user","content":"\u0062ad"}]}`:                                                        true,
		`{"prompt":"bad"}`:        true,
		`{"prompt":["ok","bad"]}`: true,
		`{"input":[{"content":[{"type":"input_text","text":"bad"}]}],"instructions":"ok"}`: true,
		`{"instructions":"bad"}`: true,
		`{"tools":[{"type":"function","function":{"name":"f","description":"bad"}}]}`:                    true,
		`{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:bad"}}]}]}`: false,
		`{"messages":[{"role":"bad","content":"x"}]}`:                                                    true,
		`{"messages":[{"role":"user","content":"x"}],"user":"bad","metadata":{"x":"bad"}}`:               false,
		`{"messages":[{"role":"user","content":"badly"}]}`:                                               false,
	} {
		found := Input(filters, bodyOf(body))
		if (found != nil) != want || found != nil && (found.Filter != filters[0] || !strings.Contains(body, `"`+found.Field+`"`)) {
			t.Errorf("%s: found %+v", body, found)
		}
	}
	for body, want := range map[string]string{
		`{"prompt":[1,2]}`: "prompt", `{"prompt":[[1,2],[3]]}`: "prompt", `{"input":[1]}`: "input", `{"prompt":[]}`: "", `{"prompt":["x",1]}`: "prompt",
	} {
		found := Input(filters, bodyOf(body))
		if got := found != nil; got != (want != "") || got && (found.Filter != nil || found.Field != want) {
			t.Errorf("%s: found %+v, want %q", body, found, want)
		}
		if found := Input(nil, bodyOf(body)); found != nil {
			t.Errorf("%s: without filters %+v was found", body, found)
		}
	}
	if Output(filters, gjson.Parse(`[{"message":{"role":"assistant","reasoning_content":"so bad"}}]`)) == nil {
		t.Error("reasoning was not looked at")
	}
	if Output(filters, gjson.Parse(`[{"id":"bad","text":"good"}]`)) != nil {
		t.Error("an id was looked at")
	}
}

func TestEventsWaitUntilTheirTextIsSafe(t *testing.T) {
	g := Gate[string]{Filters: []*Filter{{Name: "f", Matcher: keywords(t, "credit card")}}}
	content, other := Channel{Name: "content"}, Channel{Choice: 1, Name: "content"}
	for _, step := range []struct {
		event string
		parts []Part
		pass  string
	}{
		{"role", nil, "role"},
		{"a", []Part{{content, "the "}}, "a"},
		{"b", []Part{{content, "cre"}}, ""},
		{"c", []Part{{other, "credit"}}, ""},
		{"d", []Part{{content, "ed"}}, "b"}, // "creed" is no beginning; c still waits, and d behind it
		{"e", nil, ""},
		{"f", []Part{{other, "or"}}, "c d e f"},
	} {
		pass, hit := g.Push(step.event, step.parts)
		if got := strings.Join(pass, " "); got != step.pass || hit != nil {
			t.Errorf("after %s %q passes, want %q (hit %v)", step.event, got, step.pass, hit)
		}
	}
	if pass, hit := g.Push("g", []Part{{content, " credit"}}); len(pass) != 0 || hit != nil {
		t.Errorf("%q passes, hit %v", pass, hit)
	}
	if pass, hit := g.End(1, false); len(pass) != 0 || hit != nil {
		t.Errorf("%q passes at the end of another choice, hit %v", pass, hit)
	}
	if _, hit := g.Push("h", []Part{{content, " card"}}); hit != nil {
		t.Error("a keyword matched before its end was known")
	}
	if pass, hit := g.End(0, false); hit == nil || hit.Name != "f" || len(pass) != 0 {
		t.Errorf("at the end %q passes, hit %v", pass, hit)
	}
}

func TestWhatWaitsPassesAtTheEnd(t *testing.T) {
	g := Gate[string]{Filters: []*Filter{{Name: "f", Matcher: keywords(t, "credit card")}, {Name: "p", Matcher: pattern(t, `x.*y`)}}}
	g.Push("a", []Part{{Channel{}, "credit"}})
	if pass, hit := g.End(0, true); strings.Join(pass, " ") != "a" || hit != nil {
		t.Errorf("%q passes, hit %v", pass, hit)
	}
	if pass, _ := g.End(0, true); len(pass) != 0 {
		t.Errorf("%q passes twice", pass)
	}
}

// FuzzWindows cuts any text in two: the stream must match as the whole does.
func FuzzWindows(f *testing.F) {
	f.Add("a credit card", 5)
	f.Add("12-3é4 \n x", 3)
	matchers := []Matcher{keywords(f, "credit card", "é4", "c++"), pattern(f, `\d{2}-\d`), pattern(f, `(?im)\bx$`)}
	f.Fuzz(func(t *testing.T, text string, at int) {
		if !utf8.ValidString(text) || at < 0 || at > len(text) || !utf8.ValidString(text[:at]) {
			return
		}
		for i, m := range matchers {
			if _, matched := stream(m.Window(), []string{text[:at], text[at:]}); matched != m.Match(text) {
				t.Errorf("matcher %d on %q cut at %d: %v", i, text, at, matched)
			}
		}
	})
}

func BenchmarkWindow(b *testing.B) {
	words := make([]string, 200)
	for i := range words {
		words[i] = strings.Repeat(string(rune('a'+i%26)), 3+i/26)
	}
	for name, m := range map[string]Matcher{"200 keywords": keywords(b, words...), "pattern": pattern(b, `\b\d{3}-\d{2}-\d{4}\b`), "unbounded pattern": pattern(b, `BEGIN.*END`)} {
		b.Run(name, func(b *testing.B) {
			w := m.Window()
			b.ReportAllocs()
			for b.Loop() {
				w.Push(" token")
			}
		})
	}
}
