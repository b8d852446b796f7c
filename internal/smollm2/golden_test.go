package smollm2

import (
	"math"
	"testing"
)

// The bars speak of 4,000 places of four kinds of text: they are there, and whole.
func TestGoldenHasFourThousandPlaces(t *testing.T) {
	g, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	places, distributions := 0, 0
	for _, kind := range Kinds {
		if text, err := Text(kind); err != nil || text == "" {
			t.Errorf("text of %s: %d bytes, %v", kind, len(text), err)
		}
		for i, c := range g.Texts[kind] {
			n := len(c.Tokens) - 1
			for _, p := range []Predictions{c.Predictions, c.Stored.Predictions} {
				if n < 1 || len(p.Top) != n || len(p.Logprobs) != n {
					t.Fatalf("chunk %d of %s: %d tokens, %d likeliest ones, %d log-probabilities", i, kind, len(c.Tokens), len(p.Top), len(p.Logprobs))
				}
			}
			if len(c.Distributions) != (n+Every-1)/Every || c.Stored.Divergence <= 0 {
				t.Fatalf("chunk %d of %s: %d distributions, a divergence of %g", i, kind, len(c.Distributions), c.Stored.Divergence)
			}
			places += n
			distributions += len(c.Distributions)
			for j, d := range c.Distributions {
				check(t, d, c.Top[j*Every])
			}
		}
	}
	if places != 4000 || distributions != 256 {
		t.Errorf("%d places and %d distributions, want 4000 and 256", places, distributions)
	}
}

func check(t *testing.T, d Distribution, top int32) {
	t.Helper()
	sum := 0.0
	for _, l := range d.Logprobs {
		sum += math.Exp(l)
	}
	if len(d.Tokens) != 64 || len(d.Logprobs) != 64 || d.Tokens[0] != top || sum > 1.01 {
		t.Errorf("a distribution of %d tokens from %d, expected 64 from %d, with a probability of %.3f", len(d.Tokens), d.Tokens[0], top, sum)
	}
}

func TestGoldenHasThreeAnswers(t *testing.T) {
	g, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Answers) != 3 {
		t.Fatalf("%d answers, want 3", len(g.Answers))
	}
	for i, a := range g.Answers {
		if len(a.Tokens) == 0 || len(a.Answer) != 64 || len(a.Margins) != 64 {
			t.Errorf("answer %d: %d tokens after %d, %d margins", i, len(a.Answer), len(a.Tokens), len(a.Margins))
		}
	}
}

func TestNoTextOfAnotherKind(t *testing.T) {
	if _, err := Text("poetry"); err == nil {
		t.Error("got a text")
	}
}
