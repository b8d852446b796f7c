package request

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/loadgen/client"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"pgregory.net/rapid"
)

// chat is the default workload of the command line.
func chat(t testing.TB, unique bool) *workload.Stream {
	t.Helper()
	s, err := workload.New(profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 200},
		Input:   profiles.Distribution{Kind: profiles.Lognormal, Mean: 1500, P99: 8000},
		Output:  profiles.Distribution{Kind: profiles.Lognormal, Mean: 256, P99: 1000},
		Prefix:  profiles.Prefix{Groups: 8, Tokens: 750, Popularity: 1.1},
	}, workload.Options{Seed: 1, UniquePrefixes: unique})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTexts: the words are those asked for; requests share what their group
// does and nothing else.
func TestTexts(t *testing.T) {
	stream, w := chat(t, false), &Writer{Model: "m"}
	longest := map[int]string{}
	seen := map[string]bool{}
	for i := range int64(2000) {
		turn := &stream.Session(i).Turns[0]
		system, user := w.first(i, turn)
		if a, b := len(strings.Fields(system)), len(strings.Fields(user)); a != turn.Prefix || a+b != turn.Input {
			t.Fatalf("session %d: %d + %d words for %+v", i, a, b, turn)
		}
		if seen[user] && len(user) > 60 {
			t.Fatalf("session %d repeats the user's text of another", i)
		}
		seen[user] = true
		if turn.Prefix == 0 {
			continue
		}
		shorter, longer := system, longest[turn.Group]
		if len(longer) < len(shorter) {
			longer, shorter = shorter, longer
		}
		if !strings.HasPrefix(longer, shorter) {
			t.Fatalf("session %d: the prefix of group %d differs", i, turn.Group)
		}
		longest[turn.Group] = longer
	}
	starts := map[string]bool{}
	for _, text := range longest {
		starts[strings.Join(strings.Fields(text)[:8], " ")] = true
	}
	if len(longest) != 8 || len(starts) != 8 {
		t.Errorf("%d groups that begin in %d ways", len(longest), len(starts))
	}
}

// TestUniquePrefixes is the shared-prefix experiment: no two prompts begin
// alike.
func TestUniquePrefixes(t *testing.T) {
	stream, w := chat(t, true), &Writer{Model: "m"}
	seen := map[string]bool{}
	for i := range int64(500) {
		turn := &stream.Session(i).Turns[0]
		system, user := w.first(i, turn)
		start := strings.Join(strings.Fields(system + " " + user)[:min(12, turn.Input)], " ")
		if seen[start] && turn.Input >= 12 {
			t.Fatalf("session %d begins like another: %q", i, start)
		}
		seen[start] = true
	}
}

// TestSaltKeepsRunsApart: a second run says other things at the same length, a
// run with the same salt the same things.
func TestSaltKeepsRunsApart(t *testing.T) {
	stream := chat(t, false)
	write := func(seed uint64, salt string, i int64) string {
		w := &Writer{Model: "m", Prompts: Prompts{Seed: seed, Salt: salt}}
		return string(w.Write(stream.Session(i), 0, nil, Without{}))
	}
	for i := range int64(50) {
		a, again, b, c := write(1, "a", i), write(1, "a", i), write(1, "b", i), write(2, "a", i)
		if a != again {
			t.Fatalf("session %d: two writers differ", i)
		}
		if stream.Session(i).Turns[0].Input > 20 && (a == b || a == c) {
			t.Fatalf("session %d says the same under another salt or seed", i)
		}
		if x, y := len(strings.Fields(a)), len(strings.Fields(b)); x != y {
			t.Fatalf("session %d: %d and %d words", i, x, y)
		}
	}
}

// TestBlocks: prompts of a trace share text exactly as far as their ids agree.
func TestBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfN(rapid.Uint64Range(1, 4), 1, 5)
		draw := func(name string) (turn workload.Turn) {
			turn.Hashes = ids.Draw(t, name)
			turn.Input = 512*(len(turn.Hashes)-1) + rapid.IntRange(1, 512).Draw(t, name+" rest")
			return turn
		}
		w := &Writer{Model: "m", API: client.Chat}
		a, b := draw("a"), draw("b")
		_, first := w.first(1, &a)
		_, second := w.first(2, &b)
		x, y := strings.Fields(first), strings.Fields(second)
		if len(x) != a.Input || len(y) != b.Input {
			t.Fatalf("%d and %d words for %d and %d tokens", len(x), len(y), a.Input, b.Input)
		}
		blocks := 0
		for blocks < min(len(a.Hashes), len(b.Hashes)) && a.Hashes[blocks] == b.Hashes[blocks] {
			blocks++
		}
		same := 0
		for same < min(len(x), len(y)) && x[same] == y[same] {
			same++
		}
		want := min(512*blocks, len(x), len(y))
		if same < want || same > want+20 && same != min(len(x), len(y)) {
			t.Fatalf("%v and %v share %d words, want %d", a.Hashes, b.Hashes, same, want)
		}
	})
}

// TestTextsAreBalanced: every word comes equally often, so that the tokens of
// texts of one length hardly vary whatever the words cost.
func TestTextsAreBalanced(t *testing.T) {
	words := make([]string, 100)
	for i := range words {
		words[i] = fmt.Sprint("w", i)
	}
	text := strings.Fields(write(words, 1, ownText, 1, 1+1000))
	counts := map[string]int{}
	for _, word := range text[1:] {
		counts[word]++
	}
	for _, word := range words {
		if counts[word] != 10 {
			t.Fatalf("%s comes %d times", word, counts[word])
		}
	}
	if slices.IsSorted(text[1:101]) || slices.Equal(text[1:101], text[101:201]) {
		t.Error("the order is not drawn")
	}
	if len(text[0]) != 1 || text[0] < "0" || text[0] > "9" {
		t.Errorf("begins with %q", text[0])
	}
}

func TestSplit(t *testing.T) {
	l := Lengths{perWord: 1.25, overhead: map[shape]float64{{}: 10, {system: true}: 20, {tools: true}: 300}}
	for _, tt := range []struct {
		name          string
		input, prefix int
		shape         shape
		system, user  int
	}{
		{"no prefix", 110, 0, shape{}, 0, 80},
		{"prefix", 120, 70, shape{}, 40, 40},
		{"tools", 425, 0, shape{tools: true}, 0, 100},
		{"shorter than the template", 5, 0, shape{}, 0, 1},
		{"prefix shorter than the template", 30, 10, shape{}, 1, 7},
		{"all shorter than the template", 12, 11, shape{}, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if system, user := l.split(tt.input, tt.prefix, tt.shape); system != tt.system || user != tt.user {
				t.Errorf("%d and %d words, want %d and %d", system, user, tt.system, tt.user)
			}
		})
	}
	if math.Abs(l.PerWord()-1.25) > 0 || l.Overhead() != 10 {
		t.Errorf("%v per word, %v more", l.PerWord(), l.Overhead())
	}
}

// BenchmarkBody writes bodies of 8,000 tokens, as T65 wants them built ahead.
func BenchmarkBody(b *testing.B) {
	s := session(workload.Turn{Group: 1, Prefix: 1000, Input: 8000, Output: 100})
	w := &Writer{Model: "m"}
	b.ReportAllocs()
	for b.Loop() {
		s.Index++
		w.Write(s, 0, nil, Without{})
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "bodies/s")
}
