package model

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// allows is a guide that allows the given tokens, whatever came before.
type allows struct {
	tokens   []int32
	accepted []int32
}

func (g *allows) Mask(allowed []uint64) {
	clear(allowed)
	for _, t := range g.tokens {
		allowed[t/64] |= 1 << (t % 64)
	}
}

func (g *allows) Accept(t int32) bool { g.accepted = append(g.accepted, t); return true }
func (g *allows) Rollback(n int)      { g.accepted = g.accepted[:len(g.accepted)-n] }

// Whatever changes logits does so before the token is picked.
func TestWhatComesBeforeTheTemperature(t *testing.T) {
	for _, c := range []struct {
		name string
		q    Sequence
		want int32
	}{
		{"nothing", Sequence{}, 2},
		{"a forbidden token", Sequence{Forbidden: []int32{2}, Until: 1}, 3},
		{"forbidden at no place any more", Sequence{Forbidden: []int32{2}}, 2},
		{"a bias", Sequence{Sampling: Sampling{Bias: []Bias{{0, 9}}}}, 0},
		{"a bias outside of the vocabulary", Sequence{Sampling: Sampling{Bias: []Bias{{99, 9}, {-1, 9}}}}, 2},
		{"a ban", Sequence{Sampling: Sampling{Bias: []Bias{{2, float32(math.Inf(-1))}}}}, 3},
		{"presence", Sequence{Sampling: Sampling{Presence: 1}, History: NewHistory(nil, []int32{2})}, 3},
		{"presence does not see the prompt", Sequence{Sampling: Sampling{Presence: 1}, History: NewHistory([]int32{2}, nil)}, 2},
		{"one is not frequent", Sequence{Sampling: Sampling{Frequency: 0.3}, History: NewHistory(nil, []int32{2})}, 2},
		{"frequency", Sequence{Sampling: Sampling{Frequency: 0.3}, History: NewHistory(nil, []int32{2, 2})}, 3},
		{"repetition sees the prompt", Sequence{Sampling: Sampling{Repetition: 2}, History: NewHistory([]int32{2}, nil)}, 3},
		{"repetition below zero", Sequence{Sampling: Sampling{Repetition: 2, Bias: []Bias{{0, -1.5}, {1, -9}, {2, -9}, {3, -3}}}, History: NewHistory([]int32{0}, nil)}, 3},
		{"a guide", Sequence{Guide: &allows{tokens: []int32{0, 1}}}, 1},
		{"a guide over a bias", Sequence{Guide: &allows{tokens: []int32{0, 1}}, Sampling: Sampling{Bias: []Bias{{3, 50}}}}, 1},
		{"a guide that allows nothing", Sequence{Guide: &allows{}}, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Sampler
			c.q.Tokens, c.q.Sample = []int32{1}, true
			if s.Take(&c.q, 0, []float32{0.5, 1, 2, 1.5}); c.q.Next != c.want {
				t.Errorf("got %d, want %d", c.q.Next, c.want)
			}
		})
	}
}

// A draft stands while it is what would have been sampled; the token behind is the
// model's own, and guide and history have seen what stands and nothing else.
func TestDraftsStandWhileTheyAreWhatIsSampled(t *testing.T) {
	for _, c := range []struct {
		name     string
		drafts   []int32
		accepted int
		next     int32
		places   int // that were asked for
	}{
		{"none", nil, 0, 3, 1},
		{"all right", []int32{3, 4, 5}, 3, 6, 4},
		{"the second is wrong", []int32{3, 9, 5}, 1, 4, 2},
		{"the first is wrong", []int32{9, 4, 5}, 0, 3, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Sampler
			g := &allows{tokens: []int32{3, 4, 5, 6}}
			q := &Sequence{Start: 1, Tokens: append([]int32{2}, c.drafts...), Drafts: len(c.drafts), Sample: true, Logprobs: true, Guide: g, History: NewHistory(nil, nil)}
			asked := 0
			for i := range q.Places() {
				asked++
				logits := make([]float32, 10)
				logits[3+i] = 5 // the model counts
				if !s.Take(q, i, logits) {
					break
				}
			}
			if q.Accepted != c.accepted || q.Next != c.next || asked != c.places {
				t.Errorf("%d accepted and then %d after %d places, want %d, %d and %d", q.Accepted, q.Next, asked, c.accepted, c.next, c.places)
			}
			if len(q.Sampled) != c.accepted+1 || len(g.accepted) != c.accepted+1 || len(q.History.tokens) != c.accepted+1 {
				t.Errorf("%d log-probabilities, %d in the guide and %d in the history, want %d each", len(q.Sampled), len(g.accepted), len(q.History.tokens), c.accepted+1)
			}
		})
	}
}

// Log-probabilities are those of the raw logits, whatever bias, penalty or
// temperature the sampled token had.
func TestLogprobsAreOfTheRawLogits(t *testing.T) {
	never := float32(math.Inf(-1))
	logits := []float32{1, never, 3, 2}
	total := math.Log(math.Exp(1) + math.Exp(3) + math.Exp(2))
	lp := func(l float64) float32 { return float32(l - total) }
	for _, c := range []struct {
		name string
		q    Sequence
		want Logprob
	}{
		{"greedy", Sequence{Top: 2}, Logprob{2, lp(3), 1, []TokenLogprob{{2, lp(3)}, {3, lp(2)}}}},
		{"none beside it", Sequence{}, Logprob{2, lp(3), 1, nil}},
		{"a bias decides", Sequence{Sampling: Sampling{Bias: []Bias{{0, 9}}}, Top: 1}, Logprob{0, lp(1), 3, []TokenLogprob{{2, lp(3)}}}},
		{"a temperature", Sequence{Sampling: Sampling{Temperature: 1e-3}}, Logprob{2, lp(3), 1, nil}},
		{"an impossible token", Sequence{Guide: &allows{tokens: []int32{1}}, Sampling: Sampling{Bias: []Bias{{1, 1}}}, Top: 9}, Logprob{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var s Sampler
			c.q.Tokens, c.q.Sample, c.q.Logprobs = []int32{1}, true, true
			s.Take(&c.q, 0, append([]float32(nil), logits...))
			if c.want.Rank == 0 {
				if c.q.Next != -1 || c.q.Sampled != nil {
					t.Errorf("got token %d with %v, want none", c.q.Next, c.q.Sampled)
				}
				return
			}
			if diff := cmp.Diff([]Logprob{c.want}, c.q.Sampled, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("of the prompt", func(t *testing.T) {
		var s Sampler
		q := &Sequence{Tokens: []int32{0, 1, 2}, Score: []int32{1, 2}, TopScore: 4}
		for i := range q.Places() {
			if !s.Take(q, i, append([]float32(nil), logits...)) {
				t.Fatalf("place %d ends it", i)
			}
		}
		top := []TokenLogprob{{2, lp(3)}, {3, lp(2)}, {0, lp(1)}, {1, never}}
		want := []Logprob{{1, never, 4, top}, {2, lp(3), 1, top}}
		if diff := cmp.Diff(want, q.Scores, cmpopts.EquateApprox(0, 1e-5)); diff != "" {
			t.Error(diff)
		}
	})
}

// Siblings draw from the logits of the first as they would alone.
func TestSiblingsSampleAsIfAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logits := rapid.SliceOfN(rapid.Float32Range(-5, 5), 4, 70).Draw(t, "logits")
		sampling := func(i int) Sampling { return Sampling{Temperature: 1, Seed: uint64(i), Bias: []Bias{{int32(i), 3}}} }
		q := &Sequence{Start: 4, Tokens: []int32{1}, Sample: true, Sampling: sampling(0)}
		for i := 1; i < 4; i++ {
			q.Siblings = append(q.Siblings, &Sequence{Sampling: sampling(i), Logprobs: i == 2})
		}
		var s Sampler
		s.Take(q, 0, append([]float32(nil), logits...))
		for i, got := range append([]*Sequence{q}, q.Siblings...) {
			alone := &Sequence{Start: 4, Tokens: []int32{1}, Sample: true, Sampling: sampling(i)}
			var s Sampler
			s.Take(alone, 0, append([]float32(nil), logits...))
			if got.Next != alone.Next {
				t.Fatalf("answer %d: %d, alone %d", i, got.Next, alone.Next)
			}
		}
	})
}

// The vector code finds what a plain loop does.
func FuzzLargest(f *testing.F) {
	f.Add([]byte("some bytes to begin with, and then some more of them, which are enough for the vectors"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var logits []float32
		for i := 0; i+1 < len(data); i += 2 { // few different values, so that many are equal
			logits = append(logits, math.Float32frombits(uint32(data[i])<<24|uint32(data[i+1])<<16))
		}
		want, top := int32(-1), float32(math.Inf(-1))
		for i, l := range logits {
			if l > top {
				want, top = int32(i), l
			}
		}
		if got, _ := largest(logits); got != want {
			t.Fatalf("got %d, want %d of %v", got, want, logits)
		}
	})
}

// Logits that no sound model gives end a sequence, wherever among them they are and
// whatever is made of them.
func TestLogitsThatAreNotFiniteAreTold(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		name string
		q    Sequence
	}{
		{"the likeliest", Sequence{Sample: true}},
		{"at random", Sequence{Sample: true, Sampling: Sampling{Temperature: 1}}},
		{"at random of few", Sequence{Sample: true, Sampling: Sampling{Temperature: 1, TopK: 2, TopP: 0.5}}},
		{"a score", Sequence{Score: []int32{1}}},
	} {
		for _, n := range []int{1, 5, 32, 100} {
			for _, bad := range []struct {
				value  float32
				broken bool
			}{{1, false}, {-inf, false}, {nan, true}, {-nan, true}, {inf, true}} {
				for _, at := range []int{0, n / 2, n - 1} {
					var s Sampler
					logits := make([]float32, max(n, 2))
					logits[at] = bad.value
					q := c.q
					q.Tokens = []int32{0}
					if s.Take(&q, 0, logits); q.Broken != bad.broken {
						t.Errorf("%s: %v at %d of %d: broken %t", c.name, bad.value, at, n, q.Broken)
					}
				}
			}
		}
	}
	var s Sampler
	q := Sequence{Sample: true, Tokens: []int32{0}}
	if s.Take(&q, 0, []float32{-inf, -inf}); !q.Broken {
		t.Error("no token is possible, and that is not told")
	}
}
