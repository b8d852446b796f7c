package quality

import (
	"math"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/llmctl/llmctl/engine/cpu"
	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/reference"
	"github.com/llmctl/llmctl/profiles"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func builtin(t *testing.T) *model.Weights {
	t.Helper()
	m, err := profiles.LoadModel(profiles.BuiltinModel)
	if err != nil {
		t.Fatal(err)
	}
	shape, err := model.ShapeOf(*m)
	if err != nil {
		t.Fatal(err)
	}
	return model.Synthetic(shape, 1)
}

func executor(t *testing.T, w *model.Weights, tokens int) *cpu.Executor {
	t.Helper()
	e, err := cpu.New(w, cpu.Config{Blocks: Blocks(tokens), BlockSize: BlockSize})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// sentence are tokens that the built-in model writes itself, so that none of them is
// one that it rules out.
func sentence(t *testing.T, e Runner, n int) []int32 {
	t.Helper()
	tokens := []int32{100}
	answer, err := Continue(e, tokens, n-1)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range answer {
		tokens = append(tokens, a.Token)
	}
	return tokens
}

func TestScoresAreThoseOfTheDefinition(t *testing.T) {
	w := builtin(t)
	e := executor(t, w, 40)
	tokens := sentence(t, e, 40)
	scores, err := Score(e, tokens, 3)
	if err != nil {
		t.Fatal(err)
	}
	if len(scores) != len(tokens)-1 {
		t.Fatalf("%d scores of %d tokens", len(scores), len(tokens))
	}
	for i, logits := range reference.Logits(w, tokens[:len(tokens)-1]) {
		total := 0.0
		for _, l := range logits {
			total += math.Exp(l)
		}
		want := logits[tokens[i+1]] - math.Log(total)
		if got := scores[i]; got.Token != tokens[i+1] || math.Abs(float64(got.Logprob)-want) > 1e-3 || len(got.Top) != 3 {
			t.Errorf("token %d: %+v, want %.4f", i+1, got, want)
		}
	}
}

func TestContinuesWithTheLikeliest(t *testing.T) {
	e := executor(t, builtin(t), 40)
	tokens := sentence(t, e, 40)
	scores, err := Score(e, tokens, 1)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range scores {
		if s.Rank != 1 || s.Top[0].Token != tokens[i+1] {
			t.Errorf("token %d has rank %d, the likeliest is %d", tokens[i+1], s.Rank, s.Top[0].Token)
		}
	}
}

func TestTextsThatCannotBeRun(t *testing.T) {
	e := executor(t, builtin(t), 16)
	if _, err := Score(e, []int32{1}, 0); err == nil || !strings.Contains(err.Error(), "a text of 1 tokens") {
		t.Errorf("scoring one token: %v", err)
	}
	if _, err := Score(e, slices.Repeat([]int32{1}, 40), 0); err == nil {
		t.Error("scored a text that is longer than the cache")
	}
	if _, err := Continue(e, nil, 1); err == nil {
		t.Error("continued nothing")
	}
	if _, err := Continue(e, []int32{1}, 40); err == nil {
		t.Error("continued beyond the cache")
	}
}

func TestPerplexityOfEquallyLikelyTokens(t *testing.T) {
	l := float32(math.Log(1.0 / 8))
	if got := Perplexity([]model.Logprob{{Logprob: l}, {Logprob: l}}); math.Abs(got-8) > 1e-5 {
		t.Errorf("%g, want 8", got)
	}
}

func TestDivergence(t *testing.T) {
	places := func(p ...float64) (all []model.TokenLogprob) {
		for i, p := range p {
			all = append(all, model.TokenLogprob{Token: int32(i), Logprob: float32(math.Log(p))})
		}
		return all
	}
	for _, c := range []struct {
		name      string
		want, got []model.TokenLogprob
		nats      float64
	}{
		{"the same", places(0.5, 0.25), places(0.5, 0.25), 0},
		{"all mass named", places(0.5, 0.5), places(0.25, 0.75), 0.5*math.Log(2) + 0.5*math.Log(0.5/0.75)},
		{"another rest", places(0.5), places(0.25), 0.5*math.Log(2) + 0.5*math.Log(0.5/0.75)},
		{"a token too far down", places(0.5, 0.25), places(0.9), math.Inf(1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Divergence(c.want, model.Logprob{Top: c.got})
			if got != c.nats && !(math.Abs(got-c.nats) < 1e-6) {
				t.Errorf("%g, want %g", got, c.nats)
			}
		})
	}
}
