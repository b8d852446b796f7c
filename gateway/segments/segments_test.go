package segments

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var epoch = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

const (
	// prose has 2,600 bytes without a digit.
	line = "Answer briefly, in the language of the question, and never guess. "
)

var prose = strings.Repeat(line, 40)

func message(i int, role, text string) Segment {
	return Segment{Part: "messages", Index: i, Role: role, Text: text}
}

func chat(system, user string) []Segment {
	return []Segment{message(0, "system", system), message(1, "user", user)}
}

// fill adds n prompts, one a minute.
func fill(s *Sketch, n int, prompt func(i int) []Segment) {
	for i := range n {
		s.Add(epoch.Add(time.Duration(i)*time.Minute), fmt.Sprint("tenant", i%3), prompt(i))
	}
}

// stamp is a different time of day for each i.
func stamp(i int) string {
	return epoch.Add(time.Duration(i) * 61 * time.Second).Format(time.RFC3339)
}

func uuid(i int) string {
	return fmt.Sprintf("%08x-1234-4abc-8def-%012x", i*7919+123456, i*104729)
}

func TestASystemPromptThatRepeatsIsWorthPinning(t *testing.T) {
	tools := Segment{Part: "tools", Index: -1, Text: `[{"type":"function","function":{"name":"search"}}]`}
	s := New(0)
	fill(s, 100, func(i int) []Segment {
		if i%4 == 3 {
			return chat("Translate. "+prose[:600], fmt.Sprint("text ", i))
		}
		return append([]Segment{tools}, chat(prose, fmt.Sprint("question ", i))...)
	})
	r := s.Report()
	if r.Requests != 100 || len(r.Prefixes) < 2 {
		t.Fatalf("report %+v", r)
	}
	main := r.Prefixes[0]
	if main.Segment != "messages[0]" || main.Role != "system" || !main.Whole || main.Requests != 74 || main.Share != 0.74 || !main.Pin || main.Tenants != 3 {
		t.Errorf("the most valuable prefix is %+v", main)
	}
	if want := int64(len(tools.Text)+len(prose)) / bytesPerToken; main.Tokens != want {
		t.Errorf("it has %d tokens, want %d", main.Tokens, want)
	}
	other := r.Prefixes[1]
	if other.Segment != "messages[0]" || other.Requests != 25 || other.Pin {
		t.Errorf("the second prefix is %+v; it is too short to pin", other)
	}
	if share := float64(r.RepeatedTokens) / float64(r.Tokens); share < 0.9 || share > 1 {
		t.Errorf("%g of the tokens repeat", share)
	}
	if len(r.Breaks) != 0 {
		t.Errorf("breaks %+v", r.Breaks)
	}
}

func TestABurstIsNotStableEnoughToPin(t *testing.T) {
	s := New(0)
	for i := range 1000 {
		s.Add(epoch.Add(time.Duration(i)*time.Millisecond), "a", chat(prose, fmt.Sprint(i)))
	}
	if p := s.Report().Prefixes[0]; p.Requests != 999 || p.Pin {
		t.Errorf("prefix %+v", p)
	}
}

// What breaks a prefix is named by what it looks like and where it stands.
func TestWhatBreaksAPrefix(t *testing.T) {
	head := "You are a helpful assistant of ACME Corp., founded on 1999-01-02. "
	tests := []struct {
		name   string
		prompt func(i int) []Segment
		want   Break
	}{
		{"a timestamp at the top", func(i int) []Segment { return chat("Now: "+stamp(i)+". "+prose, "hi") },
			Break{Segment: "messages[0]", Role: "system", Offset: 5, LooksAs: Timestamp, SameAfter: 1, TokensAfter: 660}},
		{"a time after an escaped newline", func(i int) []Segment { return chat(`Time:\n`+stamp(i)+`\n`+prose, "hi") },
			Break{Segment: "messages[0]", Role: "system", Offset: 7, LooksAs: Timestamp, SameAfter: 1, TokensAfter: 660}},
		{"seconds since 1970", func(i int) []Segment { return chat(fmt.Sprint("t=", 1764500000+i*97, " ")+prose, "hi") },
			Break{Segment: "messages[0]", Role: "system", Offset: 2, LooksAs: Timestamp, SameAfter: 1, TokensAfter: 660}},
		{"a date in words", func(i int) []Segment {
			return chat("Today is "+epoch.AddDate(0, 0, i).Format("January 2, 2006")+". "+prose, "hi")
		},
			Break{Segment: "messages[0]", Role: "system", Offset: 9, LooksAs: Date, SameAfter: 1, TokensAfter: 660}},
		{"a UUID behind a date that stays", func(i int) []Segment { return chat(head+"Session "+uuid(i)+". "+prose, "hi") },
			Break{Segment: "messages[0]", Role: "system", Offset: len(head) + 8, LooksAs: UUID, SameAfter: 1, TokensAfter: 660}},
		{"a counter", func(i int) []Segment { return chat(fmt.Sprint("Request ", 5000+i, ". ")+prose, "hi") },
			Break{Segment: "messages[0]", Role: "system", Offset: 8, LooksAs: Counter, SameAfter: 1, TokensAfter: 660}},
		{"a counter beside a date that stays", func(i int) []Segment { return chat(fmt.Sprint("Since 1999-01-02. Request ", 5000+i, ". ")+prose, "hi") },
			Break{Segment: "messages[0]", Role: "system", Offset: 26, LooksAs: Counter, SameAfter: 1, TokensAfter: 660}},
		{"a number", func(i int) []Segment { return chat(fmt.Sprint("Customer ", 5000+i*i*7919%40000, ". ")+prose, "hi") },
			Break{Segment: "messages[0]", Role: "system", Offset: 9, LooksAs: Number, SameAfter: 1, TokensAfter: 660}},
		{"a hash", func(i int) []Segment { return chat(fmt.Sprintf("Trace %016xa. ", i*982451653+1<<40)+prose, "hi") },
			Break{Segment: "messages[0]", Role: "system", Offset: 6, LooksAs: Identifier, SameAfter: 1, TokensAfter: 660}},
		{"a name", func(i int) []Segment {
			return chat("The user is "+strings.Repeat(string(rune('a'+i%26)), 5+i)+". "+prose, "hi")
		},
			Break{Segment: "messages[0]", Role: "system", Offset: 0, LooksAs: Text, SameAfter: 1, TokensAfter: 660}},
		{"tools in another order", func(i int) []Segment {
			return append([]Segment{{Part: "tools", Index: -1, Text: fmt.Sprintf(`[{"name":"%c"},{"name":"fixed"}]`, 'a'+i%26)}}, chat(prose, "hi")...)
		}, Break{Segment: "tools", Offset: 0, LooksAs: Text, SameAfter: 0, TokensAfter: 0}},
		{"a timestamp in front of what the user asks", func(i int) []Segment { return chat("Be kind.", "At "+stamp(i)+": "+prose) },
			Break{Segment: "messages[1]", Role: "user", Offset: 3, LooksAs: Timestamp, SameAfter: 1, TokensAfter: 660}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := New(0)
			fill(s, 26, test.prompt)
			r := s.Report()
			if len(r.Breaks) == 0 {
				t.Fatalf("no break in %+v", r)
			}
			got := r.Breaks[0]
			if got.Requests < 22 || got.Share < 0.8 {
				t.Errorf("%d requests, %g of all", got.Requests, got.Share)
			}
			got.Requests, got.Share = 0, 0
			if diff := got.TokensAfter - test.want.TokensAfter; diff < -20 || diff > 20 {
				t.Errorf("%d tokens follow, want about %d", got.TokensAfter, test.want.TokensAfter)
			}
			got.TokensAfter = test.want.TokensAfter
			if got != test.want {
				t.Errorf("break %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestQuestionsOfUsersAreNoBreak(t *testing.T) {
	s := New(0)
	fill(s, 50, func(i int) []Segment {
		return chat(prose, fmt.Sprintf("On %s I paid %d $. %s", stamp(i), i, strings.Repeat(fmt.Sprint("why ", i), 100)))
	})
	if r := s.Report(); len(r.Breaks) != 0 {
		t.Errorf("breaks %+v", r.Breaks)
	}
}

// However many prompts differ, memory is bounded, and what repeats is not lost
// among them.
func TestUniquePromptsStayInBounds(t *testing.T) {
	n := 60_000
	if testing.Short() {
		n = 20_000
	}
	s := New(0)
	common := chat(prose, "hi")
	for i := range n {
		if i%20 == 0 {
			s.Add(epoch.Add(time.Duration(i)*time.Second), "a", common)
			continue
		}
		s.Add(epoch, "a", chat(fmt.Sprint(i, " ", prose[:200]), "hi"))
		if s.nodes > maxNodes || s.hashes > maxHashes {
			t.Fatalf("%d nodes with %d hashes after %d prompts", s.nodes, s.hashes, i)
		}
	}
	r := s.Report()
	if len(r.Prefixes) == 0 || r.Prefixes[0].Tokens < int64(len(prose)/bytesPerToken) || r.Prefixes[0].Share < 0.04 || r.Prefixes[0].Share > 0.06 {
		t.Errorf("prefixes %+v", r.Prefixes)
	}
	if r.Requests > memory {
		t.Errorf("%d requests are remembered", r.Requests)
	}
}

func TestAnOldPromptIsForgotten(t *testing.T) {
	s := New(0)
	fill(s, memory, func(int) []Segment { return chat("old "+prose, "hi") })
	fill(s, 4*memory, func(int) []Segment { return chat("new "+prose, "hi") })
	r := s.Report()
	if len(r.Prefixes) == 0 || r.Prefixes[0].Share < 0.9 {
		t.Errorf("prefixes %+v", r.Prefixes)
	}
}

// Nothing that clients write is kept or shown, unless an excerpt is asked for, and
// then no more of it.
func TestNoTextIsKeptUnlessAskedFor(t *testing.T) {
	prompt := func(i int) []Segment {
		return []Segment{
			{Part: "secret-part", Index: 0, Role: "secret-role", Text: "secret-1 " + stamp(i) + prose},
			message(1, "system", "secret-2 "+stamp(i)+prose), message(2, "user", "secret-3 "+prose),
		}
	}
	for _, excerpt := range []int{0, 8} {
		s := New(excerpt)
		fill(s, 40, prompt)
		fill(s, 40, func(int) []Segment { return chat("secret-4 "+prose, "secret-5") })
		var visit func(n *node)
		visit = func(n *node) {
			texts := []string{n.end.text}
			for _, b := range n.breaks {
				texts = append(texts, b.text)
			}
			for _, text := range texts {
				if len(text) > excerpt {
					t.Errorf("kept %q", text)
				}
			}
			for _, child := range n.next {
				visit(child)
			}
		}
		visit(&s.root)
		data, err := json.Marshal(s.Report())
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := WriteText(&text, []Report{s.Report()}); err != nil {
			t.Fatal(err)
		}
		shown := string(data) + text.String()
		if strings.Contains(shown, "secret") != (excerpt > 0) || strings.Contains(shown, "briefly") || strings.Contains(shown, "secret-part") || strings.Contains(shown, "secret-role") {
			t.Errorf("excerpts of %d bytes, shown: %s", excerpt, shown)
		}
	}
}

func TestTextOfAReport(t *testing.T) {
	s := New(0)
	fill(s, 40, func(i int) []Segment { return chat("Now: "+stamp(i)+". "+prose, "hi") })
	fill(s, 60, func(i int) []Segment { return chat(prose, fmt.Sprint("question ", i)) })
	r := s.Report()
	r.Alias = "assistant"
	var b strings.Builder
	if err := WriteText(&b, []Report{r}); err != nil {
		t.Fatal(err)
	}
	const want = `assistant: 100 requests with 66452 prompt tokens, of which an earlier prompt began with 58.4 %
  requests   share  tokens  of all tokens  tenants  pin  prefix up to
        59  59.0 %     660         58.6 %        3  yes  messages[0] (system)
broken in 39.0 % of requests by a timestamp at byte 5 of messages[0] (system); 660 tokens of it follow, the same as before in 100 % of cases
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

// A prefix has as many requests as there are prompts that begin with it, and the
// tree adds up.
func TestCountsAreThoseOfAPlainList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(0)
		var all [][]piece
		text := rapid.StringMatching(`[ab]{0,3}x{60,64}[ab]{0,2}`)
		for range rapid.IntRange(1, 60).Draw(t, "prompts") {
			prompt := make([]Segment, rapid.IntRange(1, 3).Draw(t, "segments"))
			for i := range prompt {
				prompt[i] = message(i, rapid.SampledFrom(roles[:3]).Draw(t, "role"), text.Draw(t, "text"))
			}
			s.Add(epoch, "a", prompt)
			all = append(all, cut(nil, prompt))
		}
		for _, p := range s.Report().Prefixes {
			var want int64
			for _, pieces := range all {
				for _, x := range pieces {
					if fmt.Sprintf("%016x", x.hash) == p.ID {
						want++
					}
				}
			}
			if p.Requests != want {
				t.Fatalf("prefix %+v, want %d requests", p, want)
			}
		}
		adds(t, &s.root)
	})
}

// adds checks that no prompt is counted twice below a node.
func adds(t interface{ Fatalf(string, ...any) }, n *node) {
	var sum int64
	for first, child := range n.next {
		if child.label[0] != first {
			t.Fatalf("a child hangs in the wrong place")
		}
		sum += child.count
		adds(t, child)
	}
	if sum > n.count {
		t.Fatalf("%d prompts go on from a beginning of %d", sum, n.count)
	}
}

func FuzzAdd(f *testing.F) {
	f.Add("system", "Now 2026-11-30T10:00:00Z "+prose, "hi", 3)
	f.Add("", "", "é漢🙂\\n1", 0)
	f.Add("\xa5\xaaC", "\x8f\xae\xa2a\x040\xf2", "000", 1)
	f.Fuzz(func(t *testing.T, role, a, b string, excerpt int) {
		s := New(excerpt % 100)
		for i := range 6 {
			prompt := []Segment{{Part: "tools", Index: -1, Text: b}, message(0, role, a), message(1, role, b)}
			if len(a) > 0 {
				prompt[1+i%2].Text = a[:i*len(a)/6] + fmt.Sprint(i) + a[i*len(a)/6:]
			}
			s.Add(epoch, role, prompt)
		}
		adds(t, &s.root)
		r := s.Report()
		if r.RepeatedTokens > r.Tokens || r.Requests != 6 {
			t.Fatalf("report %+v", r)
		}
		for _, p := range r.Prefixes {
			if p.Share <= 0 || p.Share > 1 || p.Traffic > 1.0001 || p.Tokens > r.Tokens {
				t.Errorf("prefix %+v", p)
			}
		}
		for _, x := range r.Breaks {
			if x.Offset < 0 || x.SameAfter > 1 || x.TokensAfter < 0 {
				t.Errorf("break %+v", x)
			}
		}
		if err := WriteText(&strings.Builder{}, []Report{r}); err != nil {
			t.Fatal(err)
		}
	})
}

func BenchmarkAdd(b *testing.B) {
	for _, bench := range []struct {
		name   string
		prompt func(i int) []Segment
	}{
		{"2 KiB of which all but the question repeats", func(i int) []Segment { return chat(prose[:2000], fmt.Sprint("question ", i)) }},
		{"64 KiB", func(i int) []Segment { return chat(strings.Repeat(prose, 25), fmt.Sprint("question ", i)) }},
		{"2 KiB with a timestamp at the top", func(i int) []Segment { return chat(stamp(i)+prose[:2000], "hi") }},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s, prompts := New(0), make([][]Segment, 4096)
			for i := range prompts {
				prompts[i] = bench.prompt(i)
			}
			i := 0
			b.ReportAllocs()
			for b.Loop() {
				s.Add(epoch, "a", prompts[i%len(prompts)])
				i++
			}
		})
	}
}
