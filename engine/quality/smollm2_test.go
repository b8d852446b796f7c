//go:build integration

package quality

import (
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/cpu"
	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/smollm2"
	"github.com/llmctl/llmctl/internal/tokenizer/corpus"
)

func smolLM2(t *testing.T) (*load.Model, *smollm2.Golden) {
	t.Helper()
	path := os.Getenv("LLMCTL_SMOLLM2")
	if path == "" {
		t.Fatal("LLMCTL_SMOLLM2 is not set, expected the GGUF file that scripts/fetch-smollm2 brings (make integration sets it)")
	}
	m, err := load.Open(path, load.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	golden, err := smollm2.Load()
	if err != nil {
		t.Fatal(err)
	}
	return m, golden
}

// TestSmolLM2HasTheTokensOfLlamaCpp holds the tokenizer of a real GGUF file against
// llama.cpp's on the corpus, and on the texts that are scored.
func TestSmolLM2HasTheTokensOfLlamaCpp(t *testing.T) {
	m, golden := smolLM2(t)
	encode := func(text string) []int32 { return m.Tokenizer.Encode(nil, text, false) }
	got := corpus.Hashes(corpus.Lines(), encode)
	for i, want := range corpus.SmolLM2() {
		if got[i] != want {
			t.Errorf("tokens of lines %d to %d differ from llama.cpp's", i*corpus.Per, (i+1)*corpus.Per-1)
		}
	}
	for _, kind := range smollm2.Kinds {
		text, err := smollm2.Text(kind)
		if err != nil {
			t.Fatal(err)
		}
		var want []int32
		for _, c := range golden.Texts[kind] {
			want = append(want, c.Tokens...)
		}
		if diff := cmp.Diff(want, encode(text)[:len(want)]); diff != "" {
			t.Errorf("tokens of %s (-llama.cpp +ours):\n%s", kind, diff)
		}
	}
}

// agreement is how far predictions are from llama.cpp's.
type agreement struct {
	places, same      int // places, and those with the same likeliest token
	divergence        float64
	distributions     int
	surprise, theirs  float64 // sums of negative log-probabilities
	largestDivergence float64
}

func (a *agreement) add(b agreement) {
	a.places, a.same = a.places+b.places, a.same+b.same
	a.divergence, a.distributions = a.divergence+b.divergence, a.distributions+b.distributions
	a.surprise, a.theirs = a.surprise+b.surprise, a.theirs+b.theirs
	a.largestDivergence = max(a.largestDivergence, b.largestDivergence)
}

// considered is how many of our likeliest tokens are looked at to find llama.cpp's 64.
const considered = 512

func agree(t *testing.T, r Runner, c smollm2.Chunk) (a agreement) {
	t.Helper()
	scores, err := Score(r, c.Tokens, considered)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range scores {
		a.places++
		if s.Top[0].Token == c.Top[i] {
			a.same++
		}
		a.surprise -= float64(s.Logprob)
		a.theirs -= c.Logprobs[i]
		if i%smollm2.Every != 0 {
			continue
		}
		var want []model.TokenLogprob
		d := c.Distributions[i/smollm2.Every]
		for j, token := range d.Tokens {
			want = append(want, model.TokenLogprob{Token: token, Logprob: float32(d.Logprobs[j])})
		}
		nats := Divergence(want, s)
		a.divergence += nats
		a.largestDivergence = max(a.largestDivergence, nats)
		a.distributions++
	}
	return a
}

// TestSmolLM2PredictsAsLlamaCpp holds the CPU executor against llama.cpp on a real
// model whose weights are quantized: with the true tokens before, the likeliest token
// is the same in at least 99 % of 4,000 places, the mean Kullback-Leibler divergence at
// most 0.001 nats, and the perplexity within 0.5 %.
func TestSmolLM2PredictsAsLlamaCpp(t *testing.T) {
	m, golden := smolLM2(t)
	r := cpuRunner(t, m.Weights)
	var all agreement
	for _, kind := range smollm2.Kinds {
		var one agreement
		for _, c := range golden.Texts[kind] {
			one.add(agree(t, r, c))
		}
		report(t, kind, one)
		all.add(one)
	}
	report(t, "all", all)
	if all.places != 4000 {
		t.Errorf("%d places, want 4000", all.places)
	}
	if share := float64(all.same) / float64(all.places); share < 0.99 {
		t.Errorf("the likeliest token is llama.cpp's in %.2f %%, want 99 %%", 100*share)
	}
	if mean := all.divergence / float64(all.distributions); !(mean <= 1e-3) {
		t.Errorf("mean divergence %.2g nats, want 0.001 at most", mean)
	}
	if change := all.change(); !(math.Abs(change) <= 0.005) {
		t.Errorf("perplexity differs by %+.3f %%, want 0.5 %% at most", 100*change)
	}
}

// change is by how much perplexity differs from llama.cpp's.
func (a agreement) change() float64 {
	return math.Exp((a.surprise-a.theirs)/float64(a.places)) - 1
}

func report(t *testing.T, name string, a agreement) {
	t.Helper()
	n := float64(a.places)
	t.Logf("%-10s %4d places: likeliest the same in %.2f %%, divergence %.2g (at most %.2g), perplexity %.3f (llama.cpp %.3f, %+.3f %%)",
		name, a.places, 100*float64(a.same)/n, a.divergence/float64(a.distributions), a.largestDivergence,
		math.Exp(a.surprise/n), math.Exp(a.theirs/n), 100*a.change())
}

func cpuRunner(t *testing.T, w *model.Weights) *cpu.Executor {
	t.Helper()
	const longest = 512
	e, err := cpu.New(w, cpu.Config{Blocks: Blocks(longest), BlockSize: BlockSize, MaxPositions: longest})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// noise is how far two logits must be apart for their order to be beyond what the
// order of sums and the rounding of activations change.
const noise = 0.5

// TestSmolLM2AnswersAsLlamaCpp compares what follows three chats when the likeliest
// token is taken each time. An answer may leave llama.cpp's where its two likeliest
// tokens are closer than noise.
func TestSmolLM2AnswersAsLlamaCpp(t *testing.T) {
	m, golden := smolLM2(t)
	r := cpuRunner(t, m.Weights)
	for i, want := range golden.Answers {
		answer, err := Continue(r, want.Tokens, len(want.Answer))
		if err != nil {
			t.Fatal(err)
		}
		same := 0
		for same < len(answer) && answer[same].Token == want.Answer[same] {
			same++
		}
		var text []byte
		for _, a := range answer {
			text = append(text, m.Tokenizer.Bytes(a.Token)...)
		}
		t.Logf("chat %d: the same for %d of %d tokens: %q", i, same, len(answer), text)
		if same < len(answer) && want.Margins[same] > noise {
			t.Errorf("chat %d: token %d is %d, llama.cpp's is %d, whose logit is ahead by %.2f; llama.cpp's answer: %v",
				i, same, answer[same].Token, want.Answer[same], want.Margins[same], want.Answer)
		}
	}
}
