package server

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/grammar"
)

func choiceOf(n int) *constraint {
	return &constraint{kind: byChoice, source: fmt.Sprintf(`["%d"]`, n), param: "guided_choice"}
}

func compiled(t *testing.T, g *guides, c *constraint) *grammar.Grammar {
	t.Helper()
	found, err := g.compile(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Of many grammars those that were used last are kept.
func TestGrammarsThatWereUsedLastAreKept(t *testing.T) {
	g := newGuides(&server{})
	first, second := compiled(t, g, choiceOf(0)), compiled(t, g, choiceOf(1))
	for n := 2; n <= keptGrammars; n++ {
		compiled(t, g, choiceOf(n))
		if compiled(t, g, choiceOf(0)) != first {
			t.Fatalf("after %d others the first is compiled again", n)
		}
	}
	if len(g.kept) != keptGrammars {
		t.Errorf("%d are kept, want %d", len(g.kept), keptGrammars)
	}
	if compiled(t, g, choiceOf(1)) == second {
		t.Error("the one that was not used for longest is still there")
	}
}

// Grammars count by the bytes that they take, and the one in use is kept however large.
func TestGrammarsAreKeptByTheirSize(t *testing.T) {
	g := newGuides(&server{})
	size := compiled(t, g, choiceOf(0)).Memory()
	g.memory = 3*size + size/2
	for n := range 9 {
		last := compiled(t, g, choiceOf(n))
		if len(g.kept) > 3 || compiled(t, g, choiceOf(n)) != last {
			t.Fatalf("%d of %d bytes are kept, within %d", len(g.kept), size, g.memory)
		}
	}
	if len(g.kept) != 3 {
		t.Errorf("%d are kept, want 3", len(g.kept))
	}
	g.memory = 1
	if last := compiled(t, g, choiceOf(20)); compiled(t, g, choiceOf(20)) != last || len(g.kept) != 1 {
		t.Errorf("%d are kept, want the last", len(g.kept))
	}
}

// While all turns are taken, known grammars are still found, others wait, and a client
// that leaves waits no more.
func TestGrammarsAreCompiledInTurns(t *testing.T) {
	g := newGuides(&server{})
	known := compiled(t, g, choiceOf(0))
	for range cap(g.turns) {
		g.turns <- struct{}{}
	}
	if compiled(t, g, choiceOf(0)) != known {
		t.Error("a known grammar is compiled again")
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if _, err := g.compile(gone, choiceOf(1)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the client has left", err)
	}
	g.queue = maxQueue
	if _, err := g.compile(t.Context(), choiceOf(1)); !errors.Is(err, errCompiling) {
		t.Errorf("error %v, want that too many wait", err)
	}
	g.queue = 0
	waited := make(chan *grammar.Grammar)
	for range 2 {
		go func() { // both end before the test does
			found, err := g.compile(t.Context(), choiceOf(2))
			if err != nil {
				t.Error(err)
			}
			waited <- found
		}()
	}
	select {
	case <-waited:
		t.Error("a grammar was compiled out of turn")
	default:
	}
	for range cap(g.turns) {
		<-g.turns
	}
	first, second := <-waited, <-waited
	if cap(g.turns) == 1 && first != second {
		t.Error("two requests with the same form compiled it twice")
	}
	if len(g.kept) != 2 {
		t.Errorf("%d grammars are kept, want 2", len(g.kept))
	}
}

// A client that leaves while its schema is compiled ends that, and its turn.
func TestLeavingEndsCompiling(t *testing.T) {
	g := newGuides(&server{})
	gone, leave := context.WithCancel(t.Context())
	leave()
	g.turns = make(chan struct{}, 8)
	for range 64 { // either of a turn and the client's end is taken
		p := g.guide(gone, &constraint{kind: bySchema, source: `{"type":"integer"}`, param: "response_format"}, &engine.Request{})
		if p == nil || p.status != statusClientGone {
			t.Fatalf("problem %v, want that the client has left", p)
		}
	}
	if len(g.turns)+g.queue+len(g.kept) != 0 {
		t.Errorf("%d turns, %d in the queue, %d kept", len(g.turns), g.queue, len(g.kept))
	}
}
