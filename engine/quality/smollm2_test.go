//go:build integration

package quality

import (
	"math"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/cpu"
	"github.com/llmctl/llmctl/engine/cpu/attention"
	"github.com/llmctl/llmctl/engine/load"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/internal/smollm2"
	"github.com/llmctl/llmctl/internal/tokenizer/corpus"
	"github.com/llmctl/llmctl/internal/weights/block"
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

// agreement is how far predictions are from llama.cpp's in single precision.
type agreement struct {
	places, same     int // places, and those with the same likeliest token
	divergence       float64
	distributions    int
	surprise, theirs float64 // sums of negative log-probabilities
}

func (a *agreement) add(b agreement) {
	a.places, a.same = a.places+b.places, a.same+b.same
	a.divergence, a.distributions = a.divergence+b.divergence, a.distributions+b.distributions
	a.surprise, a.theirs = a.surprise+b.surprise, a.theirs+b.theirs
}

// share is of the places with the same likeliest token, mean the mean divergence,
// change by how much perplexity differs.
func (a agreement) share() float64  { return float64(a.same) / float64(a.places) }
func (a agreement) mean() float64   { return a.divergence / float64(a.distributions) }
func (a agreement) change() float64 { return math.Exp((a.surprise-a.theirs)/float64(a.places)) - 1 }

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
		a.divergence += Divergence(want, s)
		a.distributions++
	}
	return a
}

// own is how far llama.cpp is from itself when matrices are as they are stored and
// activations have eight bits. Its divergence is known for all places.
func own(c smollm2.Chunk) (a agreement) {
	for i, top := range c.Stored.Top {
		if top == c.Top[i] {
			a.same++
		}
		a.surprise -= c.Stored.Logprobs[i]
		a.theirs -= c.Logprobs[i]
	}
	a.places = len(c.Stored.Top)
	a.divergence, a.distributions = c.Stored.Divergence*float64(a.places), a.places
	return a
}

// agreeAll adds up an agreement over all texts, and reports it by kind.
func agreeAll(t *testing.T, golden *smollm2.Golden, name string, of func(smollm2.Chunk) agreement) (all agreement) {
	t.Helper()
	report := func(kind string, a agreement) {
		t.Logf("%s, %-10s %4d places: likeliest the same in %.2f %%, divergence %.2g, perplexity %.3f (%+.3f %%)",
			name, kind+":", a.places, 100*a.share(), a.mean(), math.Exp(a.surprise/float64(a.places)), 100*a.change())
	}
	for _, kind := range smollm2.Kinds {
		var one agreement
		for _, c := range golden.Texts[kind] {
			one.add(of(c))
		}
		report(kind, one)
		all.add(one)
	}
	report("all", all)
	if all.places != 4000 {
		t.Errorf("%d places, want 4000", all.places)
	}
	return all
}

// runner is the CPU, with room for the chunks.
func runner(t *testing.T, w *model.Weights, kv attention.DType) *cpu.Executor {
	t.Helper()
	const longest = 512
	e, err := cpu.New(w, cpu.Config{Blocks: Blocks(longest), BlockSize: BlockSize, MaxPositions: longest, KV: kv})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// TestSmolLM2PredictsAsLlamaCpp holds loader, model and executor against llama.cpp on a
// real model's weights, in single precision: with the true tokens before, the likeliest
// token is the same in at least 99 % of 4,000 places, the mean Kullback-Leibler
// divergence at most 0.001 nats, and the perplexity within 0.5 %.
func TestSmolLM2PredictsAsLlamaCpp(t *testing.T) {
	m, golden := smolLM2(t)
	plain, err := Float(m.Weights, block.F32)
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, plain, attention.Float32)
	all := agreeAll(t, golden, "single precision", func(c smollm2.Chunk) agreement { return agree(t, r, c) })
	if all.share() < 0.99 {
		t.Errorf("the likeliest token is llama.cpp's in %.2f %%, want 99 %%", 100*all.share())
	}
	if !(all.mean() <= 1e-3) {
		t.Errorf("mean divergence %.2g nats, want 0.001 at most", all.mean())
	}
	if !(math.Abs(all.change()) <= 0.005) {
		t.Errorf("perplexity differs by %+.3f %%, want 0.5 %% at most", 100*all.change())
	}
	for i, want := range golden.Answers {
		answer, same := continued(t, r, want)
		t.Logf("chat %d: the same for %d of %d tokens", i, same, len(answer))
		if same < len(answer) && want.Margins[same] > noise {
			t.Errorf("chat %d: token %d is %d, llama.cpp's is %d, whose logit is ahead by %.4f", i, same, answer[same].Token, want.Answer[same], want.Margins[same])
		}
	}
}

// noise is how far two logits must be apart for their order to be beyond what single
// precision changes.
const noise = 0.01

// continued is an answer, and for how many tokens it is llama.cpp's.
func continued(t *testing.T, r Runner, want smollm2.Answer) (answer []model.Logprob, same int) {
	t.Helper()
	answer, err := Continue(r, want.Tokens, len(want.Answer))
	if err != nil {
		t.Fatal(err)
	}
	for same < len(answer) && answer[same].Token == want.Answer[same] {
		same++
	}
	return answer, same
}

// TestSmolLM2AsStoredIsAsNearAsLlamaCpp holds the matrices as they are stored, with
// activations of eight bits and the KV cache that is served, against the same: they may
// be as far from single precision as llama.cpp's own are. Two programs that round
// activations are no nearer to each other, nor is llama.cpp with flash attention to
// llama.cpp without: a rounding up here and down there grows from layer to layer.
func TestSmolLM2AsStoredIsAsNearAsLlamaCpp(t *testing.T) {
	m, golden := smolLM2(t)
	r := runner(t, m.Weights, attention.Auto)
	ours := agreeAll(t, golden, "as stored", func(c smollm2.Chunk) agreement { return agree(t, r, c) })
	theirs := agreeAll(t, golden, "llama.cpp as stored", own)
	if ours.share() < theirs.share()-0.01 {
		t.Errorf("the likeliest token is that of single precision in %.2f %%, llama.cpp's in %.2f %%", 100*ours.share(), 100*theirs.share())
	}
	if !(ours.mean() <= 1.25*theirs.mean()) {
		t.Errorf("mean divergence from single precision %.2g nats, llama.cpp's %.2g", ours.mean(), theirs.mean())
	}
	if !(math.Abs(ours.change()) <= 0.005) {
		t.Errorf("perplexity differs by %+.3f %% from single precision, want 0.5 %% at most", 100*ours.change())
	}
}

// TestSmolLM2AnswersAsBefore notices any change to what is served: the text of a chat,
// greedily, as it is on every machine.
func TestSmolLM2AnswersAsBefore(t *testing.T) {
	m, golden := smolLM2(t)
	answer, same := continued(t, runner(t, m.Weights, attention.Auto), golden.Answers[0])
	t.Logf("the same as llama.cpp in single precision for %d of %d tokens", same, len(answer))
	var text []byte
	for _, a := range answer {
		text = append(text, m.Tokenizer.Bytes(a.Token)...)
	}
	if string(text) != answered {
		t.Errorf("the answer is now %q, it was %q", text, answered)
	}
}

// answered is what the engine makes of the first chat.
const answered = "The capital of France is Paris. It is a city steeped in history and culture, and it is known " +
	"for its iconic landmarks like the Eiffel Tower, Louvre Museum, Notre Dame Cathedral, and many others. Paris is " +
	"also famous for its artistic and literary heritage, and it is often referred to as the City of"
