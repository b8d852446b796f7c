package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func message(role, text string) string { return fmt.Sprintf(`{"role":%q,"content":%q}`, role, text) }

func messages(m ...string) string { return "[" + strings.Join(m, ",") + "]" }

// shared is how many leading blocks two prompts have in common.
func shared(a, b []Block) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestTurnFiveSharesTheBlocksOfTurnsOneToFour(t *testing.T) {
	tools := `[{"type":"function","function":{"name":"search","parameters":{}}}]`
	said := []string{message("system", strings.Repeat("You are a careful assistant. ", 20))}
	var before []Block
	for turn := range 5 {
		said = append(said, message("user", fmt.Sprintf("question %d: %s", turn, strings.Repeat("why? ", 30))))
		blocks := Blocks(nil, "m", "salt", tools, messages(said...))
		if n := shared(before, blocks); n != len(before) || len(blocks) <= len(before) {
			t.Errorf("turn %d has %d blocks, of which %d are those of the turn before, which has %d", turn+1, len(blocks), n, len(before))
		}
		before = blocks
		said = append(said, message("assistant", strings.Repeat("because. ", 20)))
	}
}

// A conversation goes to the endpoint that its earlier turns went to, although
// the last message is new every time and others talk at the same time.
func TestTurnsOfAConversationGoToTheSameEndpoint(t *testing.T) {
	x := NewIndex(10_000)
	endpoints := make([]Endpoint, 4)
	said, at := map[int][]string{}, map[int]int{}
	for turn := range 5 {
		for user := range 12 {
			said[user] = append(said[user], message("user", fmt.Sprintf("user %d turn %d %s", user, turn, strings.Repeat("x", 200))))
			prompt := Blocks(nil, "m", "", messages(said[user]...))
			for e := range endpoints {
				endpoints[e].Match = x.Match(e, prompt)
			}
			e := PrefixAffinity(endpoints, DefaultLoadCap, uint64(turn*12+user))
			endpoints[e].Load++
			x.Insert(e, prompt)
			if first, ok := at[user]; ok && first != e {
				t.Errorf("turn %d of user %d went to endpoint %d, the first to %d", turn+1, user, e, first)
			}
			at[user] = e
			said[user] = append(said[user], message("assistant", "answer"))
		}
		for e := range endpoints {
			endpoints[e].Load = 0 // all answered before the next turn
		}
	}
}

func TestBlocksTellPromptsApart(t *testing.T) {
	long := strings.Repeat("0123456789abcdef", 4096) // 64 KiB
	base := func() []Block { return Blocks(nil, "m", "salt", `[{"a":1}]`, messages(message("user", long))) }
	tests := []struct {
		name  string
		other []Block
		least int // shared blocks
		most  int
	}{
		{"the same", base(), len(base()), len(base())},
		{"another model", Blocks(nil, "n", "salt", `[{"a":1}]`, messages(message("user", long))), 0, 0},
		{"another tenant's salt", Blocks(nil, "m", "pepper", `[{"a":1}]`, messages(message("user", long))), 0, 0},
		{"model and salt do not run into each other", Blocks(nil, "ms", "alt", `[{"a":1}]`, messages(message("user", long))), 0, 0},
		{"other tools", Blocks(nil, "m", "salt", `[{"a":2}]`, messages(message("user", long))), 0, 0},
		{"no tools", Blocks(nil, "m", "salt", "", messages(message("user", long))), 0, 0},
		{"another role", Blocks(nil, "m", "salt", `[{"a":1}]`, messages(message("tool", long))), 0, 0},
		{"equal in the first 16,384 characters", Blocks(nil, "m", "salt", `[{"a":1}]`, messages(message("user", long[:20000]+"!"+long[20000:]))), 256, len(base()) - 100},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if n := shared(base(), test.other); n < test.least || n > test.most {
				t.Errorf("%d of %d blocks are shared, want %d to %d", n, len(base()), test.least, test.most)
			}
		})
	}
}

func TestNumberOfBlocksStaysSmall(t *testing.T) {
	for _, test := range []struct{ bytes, most int }{{63, 0}, {64, 1}, {16 << 10, 256}, {1 << 20, 720}, {32 << 20, 1050}} {
		n := len(Blocks(nil, "", "", strings.Repeat("a", test.bytes)))
		if n > test.most || test.bytes-covered(n) >= blockSize(n) || test.bytes < covered(n) {
			t.Errorf("%d bytes have %d blocks that cover %d bytes, want at most %d, and the rest smaller than a block", test.bytes, n, covered(n), test.most)
		}
	}
}

// The blocks of a prompt are the first blocks of every prompt that goes on from it.
func TestBlocksAreAPrefixOfALongerPrompt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		first := rapid.StringMatching(`[ab]{0,300}`).Draw(t, "first part")
		prefix := rapid.StringMatching(`[ab"\]]{0,900}c`).Draw(t, "prefix")
		rest := rapid.StringMatching(`[ab"\]]{0,900}`).Draw(t, "rest")
		short, long := Blocks(nil, "m", "", first, prefix), Blocks(nil, "m", "", first, prefix+rest)
		if n := shared(short, long); n != len(short) {
			t.Fatalf("the longer prompt shares %d of the %d blocks", n, len(short))
		}
		if !slices.Equal(long, Blocks(nil, "m", "", first, prefix+rest)) {
			t.Fatal("the same prompt has other blocks the second time")
		}
	})
}

func FuzzBlocks(f *testing.F) {
	f.Add("[]", messages(message("user", "hi")), messages(message("user", "ho")))
	f.Add("", strings.Repeat("a", 200), strings.Repeat("a", 100)+"b")
	f.Fuzz(func(t *testing.T, tools, a, b string) {
		x, y := Blocks(nil, "m", "s", tools, a), Blocks(nil, "m", "s", tools, b)
		equal := len(tools) + common(open(a), open(b))
		n := shared(x, y)
		if covered(n) > equal {
			t.Errorf("%d blocks of %d bytes are shared, the prompts only %d bytes", n, covered(n), equal)
		}
		if least := min(equal, len(tools)+min(len(open(a)), len(open(b)))); covered(n+1) <= least {
			t.Errorf("%d blocks of %d bytes are shared, the prompts %d bytes", n, covered(n), least)
		}
	})
}

// common is how many leading bytes two texts have in common.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func BenchmarkBlocks(b *testing.B) {
	for _, size := range []int{2 << 10, 64 << 10, 4 << 20} {
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			raw := messages(message("user", strings.Repeat("0123456789abcdef", size/16)))
			dst := make([]Block, 0, 2048)
			b.SetBytes(int64(len(raw)))
			b.ReportAllocs()
			for b.Loop() {
				dst = Blocks(dst[:0], "model", "salt", "", raw)
			}
		})
	}
}

// The index keeps what fits and no more, however many prompts differ, and a prompt
// that comes again is found.
func TestUniquePromptsDoNotGrowTheIndex(t *testing.T) {
	const room, endpoints = 1000, 3
	x := NewIndex(room)
	for i := range 20_000 {
		prompt := Blocks(nil, "m", "", messages(message("user", fmt.Sprint(i, strings.Repeat(" and then", 40)))))
		x.Insert(i%endpoints, prompt)
		if n := x.Match(i%endpoints, prompt); n != len(prompt) {
			t.Fatalf("of a prompt of %d blocks that was just sent, %d are known", len(prompt), n)
		}
	}
	for e := range endpoints {
		if x.Len(e) != room || len(x.held[e].nodes) > room+1 {
			t.Errorf("endpoint %d is taken to hold %d blocks in %d nodes, there is room for %d", e, x.Len(e), len(x.held[e].nodes), room)
		}
		x.Forget(e)
		if x.Len(e) != 0 || x.held[e].nodes != nil {
			t.Errorf("of endpoint %d, which has gone, %d blocks are left", e, x.Len(e))
		}
	}
}

// covered is how many bytes of a prompt its first n blocks hold.
func covered(n int) int {
	sum := min(n, evenBlocks) * blockBytes
	for i := evenBlocks; i < n; i += growth {
		sum += min(growth, n-i) * blockSize(i)
	}
	return sum
}
