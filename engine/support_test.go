package engine

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/llmctl/llmctl/engine/model"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/internal/tokenizer"
	"github.com/llmctl/llmctl/profiles"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testing.T and rapid.T, as far as helpers need them.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// tiny is a model small enough that hundreds of engines can run in a test.
func tiny() profiles.Model {
	m := profiles.Model{
		Name: "tiny", Type: "llama", HiddenSize: 16, VocabSize: tokenizer.Size, MaxPositions: 256, TiedEmbeddings: true,
		NormEpsilon: 1e-5, RopeTheta: 10000, Activation: "silu", EOSTokens: []int{tokenizer.EOS},
	}
	for range 2 {
		m.Layers = append(m.Layers, profiles.Layer{
			Attention: profiles.Attention{Kind: profiles.FullAttention, Heads: 2, KVHeads: 1, HeadDim: 8},
			MLP:       profiles.MLP{Intermediate: 24, Gated: true},
		})
	}
	return m
}

func start(t tester, c Config) *Engine {
	t.Helper()
	if c.Model.Name == "" {
		c.Model = tiny()
	}
	if c.Blocks == 0 {
		c.Blocks = 256
	}
	e, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// startFor is start with Close at the end of the test.
func startFor(t *testing.T, c Config) *Engine {
	e := start(t, c)
	t.Cleanup(e.Close)
	return e
}

func submit(t tester, e *Engine, r Request) *Stream {
	t.Helper()
	s, err := e.Submit(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// outcome is all that a stream said.
type outcome struct {
	Text   string
	Output int
	Finish sched.FinishReason
	Cached int
	Parts  []string
}

func collect(t tester, s *Stream) outcome {
	t.Helper()
	var o outcome
	tokens := 0
	for {
		e, err := s.Next(context.Background())
		if errors.Is(err, io.EOF) {
			if tokens != o.Output {
				t.Fatalf("events stand for %d tokens, the last one counts %d", tokens, o.Output)
			}
			return o
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Text != "" {
			o.Parts = append(o.Parts, e.Text)
		}
		tokens += e.Tokens
		o.Text, o.Output, o.Cached = o.Text+e.Text, e.Output, e.Cached
		o.Finish = e.Finish
	}
}

func words(n int, seed uint64) []int32 {
	r := rand.New(rand.NewPCG(seed, 2))
	tokens := []int32{tokenizer.BOS}
	for len(tokens) < n {
		tokens = append(tokens, int32(tokenizer.Size-1-r.IntN(800)))
	}
	return tokens
}

// script is an executor without a model: next tells the token after a sequence.
type script struct{ next func(*model.Sequence) int32 }

func (s script) Execute(sequences []*model.Sequence) error {
	for _, q := range sequences {
		if q.Sample {
			q.Next = s.next(q)
		}
	}
	return nil
}

func (s script) Close() {}

// says is a script that writes the given tokens after a prompt of one token, and
// then words for ever.
func says(tokens ...int32) script {
	return script{func(q *model.Sequence) int32 {
		if at := q.Start + len(q.Tokens) - 1; at < len(tokens) {
			return tokens[at]
		}
		return tokenizer.Size - 1
	}}
}

// gate is an executor that runs a step when the test says so, and tells when it
// is about to.
type gate struct {
	script
	arrived chan []*model.Sequence // a step is ready to run
	proceed chan struct{}          // closed or sent to: run it
	open    sync.Once
}

func newGate() *gate {
	return &gate{script: says(), arrived: make(chan []*model.Sequence), proceed: make(chan struct{})}
}

func (g *gate) Execute(sequences []*model.Sequence) error {
	select {
	case g.arrived <- sequences:
		<-g.proceed
	case <-g.proceed:
	}
	return g.script.Execute(sequences)
}

// release lets everything run from now on.
func (g *gate) release() { g.open.Do(func() { close(g.proceed) }) }

// step lets one step run, which the test has seen arrive.
func (g *gate) step() { g.proceed <- struct{}{} }
