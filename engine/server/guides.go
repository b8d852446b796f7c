package server

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"slices"
	"sync"

	"github.com/llmctl/llmctl/engine"
	"github.com/llmctl/llmctl/engine/grammar"
	"github.com/llmctl/llmctl/engine/model"
)

// guides compile constraints for a tokenizer, and keep what they used last: clients ask
// for the same again and again.
type guides struct {
	vocabulary func() *grammar.Vocabulary
	unguided   string // why not, empty where it works
	// turns are taken while compiling, which may keep a processor for half a second:
	// hostile schemas must not take them all from the model.
	turns chan struct{}

	mu     sync.Mutex
	kept   []keptGrammar // the one used last is the last
	memory int64         // that they may take, in bytes
	queue  int           // how many wait for their turns
}

type keptGrammar struct {
	key     string
	grammar *grammar.Grammar
}

// keptGrammars, keptSource and keptMemory bound what is kept. Grammars grow while they
// are used.
const (
	keptGrammars = 64
	keptSource   = 64 << 10  // bytes of one
	keptMemory   = 128 << 20 // bytes of all, but for the one used last
)

// maxQueue is how many may wait for their turns.
const maxQueue = 32

// errCompiling is why a request is not taken whose turn is too far.
var errCompiling = errors.New("too many structured outputs are being compiled, retry later")

func newGuides(s *server) *guides {
	return &guides{
		unguided: s.Unguided,
		memory:   keptMemory,
		turns:    make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2)),
		vocabulary: sync.OnceValue(func() *grammar.Vocabulary {
			t := s.Tokenizer
			return grammar.NewVocabulary(t.Size(), t.Bytes, t.Special, s.engine.EndTokens())
		}),
	}
}

// guide sets what holds a request's answers to a constraint.
func (g *guides) guide(ctx context.Context, c *constraint, r *engine.Request) *problem {
	if c == nil {
		return nil
	}
	if g.unguided != "" {
		return unsupported(c.param, g.unguided)
	}
	compiled, err := g.compile(ctx, c)
	switch {
	case errors.Is(err, errCompiling):
		return &problem{message: err.Error(), code: "overloaded", status: http.StatusServiceUnavailable}
	case err != nil && ctx.Err() != nil:
		return &problem{message: "the client has left", status: statusClientGone}
	case err != nil:
		return wrong(c.param, "%s: %v", c.param, err)
	}
	v := g.vocabulary()
	r.Guide = func() model.Guide { return compiled.Matcher(v) }
	return nil
}

// compile finds a grammar or makes it, when it is its turn. It returns an error as well
// when the client leaves before.
func (g *guides) compile(ctx context.Context, c *constraint) (*grammar.Grammar, error) {
	key := c.kind + "\x00" + c.source
	if known := g.find(key); known != nil {
		return known, nil
	}
	if err := g.turn(ctx); err != nil {
		return nil, err
	}
	defer func() { <-g.turns }()
	if known := g.find(key); known != nil { // another request had the same
		return known, nil
	}
	compiled, err := c.compile(ctx)
	if err == nil && len(key) <= keptSource {
		g.keep(key, compiled)
	}
	return compiled, err
}

// turn waits for a turn, which are given in order.
func (g *guides) turn(ctx context.Context) error {
	g.mu.Lock()
	full := g.queue == maxQueue
	if !full {
		g.queue++
	}
	g.mu.Unlock()
	if full {
		return errCompiling
	}
	defer func() {
		g.mu.Lock()
		g.queue--
		g.mu.Unlock()
	}()
	select {
	case g.turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// find looks for a grammar that is kept, nil if it is not.
func (g *guides) find(key string) *grammar.Grammar {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := slices.IndexFunc(g.kept, func(k keptGrammar) bool { return k.key == key })
	if at < 0 {
		return nil
	}
	found := g.kept[at]
	g.kept = append(slices.Delete(g.kept, at, at+1), found)
	g.drop()
	return found.grammar
}

// keep keeps a grammar, unless another request has done so.
func (g *guides) keep(key string, compiled *grammar.Grammar) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.ContainsFunc(g.kept, func(k keptGrammar) bool { return k.key == key }) {
		g.kept = append(g.kept, keptGrammar{key, compiled})
		g.drop()
	}
}

// drop forgets those that were not used for longest, until the rest is within bounds.
func (g *guides) drop() {
	left, memory := 0, int64(0)
	for i := len(g.kept) - 1; i >= 0; i-- {
		memory += g.kept[i].grammar.Memory() + int64(len(g.kept[i].key))
		if left == keptGrammars || left > 0 && memory > g.memory {
			g.kept = slices.Delete(g.kept, 0, i+1)
			return
		}
		left++
	}
}
