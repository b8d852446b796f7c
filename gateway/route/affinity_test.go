package route

import (
	"encoding/binary"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestPrefixAffinity(t *testing.T) {
	tests := []struct {
		name      string
		endpoints []Endpoint
		loadCap   float64
		want      int
	}{
		{"nothing", nil, DefaultLoadCap, -1},
		{"the longest match", []Endpoint{{Load: 1, Match: 2}, {Load: 2, Match: 5}, {Load: 1}}, DefaultLoadCap, 1},
		{"unless it has too much to do: then the next", []Endpoint{{Load: 4, Match: 2}, {Load: 9, Match: 5}, {Load: 3}}, DefaultLoadCap, 0},
		{"just below the cap", []Endpoint{{Load: 6, Match: 5}, {Load: 2}}, DefaultLoadCap, 0},
		{"just above the cap", []Endpoint{{Load: 7, Match: 5}, {Load: 2}}, DefaultLoadCap, 1},
		{"no cap", []Endpoint{{Load: 700, Match: 5}, {Load: 2}}, -1, 0},
		{"the first request of all", []Endpoint{{Match: 1}, {}}, DefaultLoadCap, 0},
		{"nobody holds it: the least loaded", []Endpoint{{Load: 2}, {Load: 1}, {Load: 2}}, DefaultLoadCap, 1},
		{"equal matches: the least loaded", []Endpoint{{Load: 2, Match: 3}, {Load: 1, Match: 3}}, DefaultLoadCap, 1},
		{"a match that rests", []Endpoint{{Match: 3, Resting: true}, {Load: 1}}, DefaultLoadCap, 1},
		{"a match that was tried", []Endpoint{{Match: 3, Tried: true}, {Load: 1}}, DefaultLoadCap, 1},
		{"all rest", []Endpoint{{Load: 1, Resting: true}, {Load: 9, Match: 3, Resting: true}}, DefaultLoadCap, 1},
		{"what rests does not raise the mean", []Endpoint{{Load: 5, Match: 1}, {Load: 1}, {Load: 99, Resting: true}}, DefaultLoadCap, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := PrefixAffinity(test.endpoints, test.loadCap, 0); got != test.want {
				t.Errorf("PrefixAffinity(%+v, %g) = %d, want %d", test.endpoints, test.loadCap, got, test.want)
			}
		})
	}
}

// However requests come, and whatever they match, an endpoint that a request is
// sent to has at most the cap: no spot is hot.
func TestLoadCapHolds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		endpoints := make([]Endpoint, rapid.IntRange(1, 6).Draw(t, "endpoints"))
		loadCap := rapid.Float64Range(1, 3).Draw(t, "cap")
		for turn := range uint64(rapid.IntRange(1, 200).Draw(t, "requests")) {
			var sum int64
			for i := range endpoints {
				endpoints[i].Match = rapid.SampledFrom([]int{0, 0, 1, 50}).Draw(t, "match")
				if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
					endpoints[i].Load = max(0, endpoints[i].Load-1)
				}
				sum += endpoints[i].Load
			}
			i := PrefixAffinity(endpoints, loadCap, turn)
			if mean := float64(sum) / float64(len(endpoints)); float64(endpoints[i].Load) > loadCap*mean+1+1e-9 {
				t.Fatalf("picked an endpoint with %d requests, at a mean of %g", endpoints[i].Load, mean)
			}
			endpoints[i].Load++
		}
	})
}

// chain is the blocks of the prompt that the letters spell.
func chain(text string) []Block {
	blocks := make([]Block, len(text))
	hash := uint64(0)
	for i := range text {
		hash = (hash ^ uint64(text[i])) * 1099511628211
		hash += uint64(i) + 1
		binary.LittleEndian.PutUint64(blocks[i][:], hash)
	}
	return blocks
}

func TestIndex(t *testing.T) {
	x := NewIndex(6)
	x.Insert(1, chain("abcd"))
	match := func(when string, endpoint int, text string, want int) {
		t.Helper()
		if got := x.Match(endpoint, chain(text)); got != want {
			t.Errorf("%s: endpoint %d holds %d blocks of %q, want %d", when, endpoint, got, text, want)
		}
	}
	match("whole", 1, "abcd", 4)
	match("longer prompt", 1, "abcdef", 4)
	match("branch", 1, "abxy", 2)
	match("other", 1, "xbcd", 0)
	match("another endpoint", 0, "abcd", 0)
	match("an unknown endpoint", 7, "abcd", 0)
	x.Insert(1, chain("abxy"))
	match("both branches fit", 1, "abcd", 4)
	match("both branches fit", 1, "abxy", 4)
	x.Insert(1, chain("q"))
	match("the end of the older branch goes first", 1, "abcd", 3)
	match("the newer branch stays", 1, "abxy", 4)
	x.Insert(0, chain("0123456789"))
	match("longer than the room: its beginning", 0, "0123456789", 6)
	x.Forget(1)
	match("forgotten", 1, "abxy", 0)
	x.Insert(1, chain("ab"))
	match("used again", 1, "ab", 2)
}

// The index does what a plain list of blocks in order of use does.
func TestIndexIsAnLRU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		room := rapid.IntRange(1, 12).Draw(t, "room")
		x := NewIndex(room)
		var plain [2][]Block // the newest last
		for range rapid.IntRange(1, 60).Draw(t, "prompts") {
			prompt := chain(rapid.StringMatching(`[ab]{0,8}`).Draw(t, "prompt"))
			e := rapid.IntRange(0, 1).Draw(t, "endpoint")
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				x.Forget(e)
				plain[e] = nil
			default:
				x.Insert(e, prompt)
				for _, b := range slices.Backward(prompt[:min(len(prompt), room)]) {
					if i := slices.Index(plain[e], b); i >= 0 {
						plain[e] = slices.Delete(plain[e], i, i+1)
					} else if len(plain[e]) == room {
						plain[e] = plain[e][1:]
					}
					plain[e] = append(plain[e], b)
				}
			}
			probe := chain(rapid.StringMatching(`[ab]{0,8}`).Draw(t, "probe"))
			for e := range plain {
				want := 0
				for want < len(probe) && slices.Contains(plain[e], probe[want]) {
					want++
				}
				if got := x.Match(e, probe); got != want || x.Len(e) != len(plain[e]) {
					t.Fatalf("endpoint %d holds %d of the prompt's blocks and %d in all, want %d and %d", e, got, x.Len(e), want, len(plain[e]))
				}
			}
		}
	})
}

// BenchmarkIndex routes prompts of 128 blocks, of which 64 are shared, over 16
// endpoints with full indices.
func BenchmarkIndex(b *testing.B) {
	const endpoints, shared, own = 16, 64, 64
	x := NewIndex(30_000)
	prompt := make([]Block, shared+own)
	for i := range shared {
		prompt[i] = Block{15: 1, 14: byte(i)}
	}
	picks := make([]Endpoint, endpoints)
	serial := uint64(0)
	b.ReportAllocs()
	for b.Loop() {
		serial++
		for i := shared; i < len(prompt); i++ {
			binary.LittleEndian.PutUint64(prompt[i][:], serial<<8|uint64(i))
		}
		for e := range picks {
			picks[e].Match = x.Match(e, prompt)
		}
		e := PrefixAffinity(picks, DefaultLoadCap, serial)
		picks[e].Load++
		x.Insert(e, prompt)
	}
}

func BenchmarkLeastLoaded(b *testing.B) {
	picks := make([]Endpoint, 16)
	turn := uint64(0)
	for b.Loop() {
		turn++
		picks[LeastLoaded(picks, turn)].Load++
	}
}
