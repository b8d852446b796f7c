package cpu

import (
	"fmt"
	"math"
	"runtime"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/model"
)

// Config sizes an executor.
type Config struct {
	Blocks       int // physical KV blocks
	BlockSize    int // tokens per block
	MaxPositions int // longest sequence; 0 is the model's own limit
	Workers      int // goroutines that compute; 0 is GOMAXPROCS
}

// Executor runs steps of a model. It is used by one goroutine at a time.
type Executor struct {
	weights *model.Weights
	packed  packed
	cache   *cache
	rotary  rotary
	limit   int // positions
	team    *team
	scratch []scratch // per worker

	// The step in progress.
	rows     []row     // one per token
	sampled  []place   // rows whose logits are wanted
	heads    [][2]int  // parts of sampled, all places of a sequence in one
	x        []float32 // residual stream, [row][hidden]
	q        []float32 // queries, then attention output, [row][queries]
	layer    int
	tile     int // rows per tile
	headTile int // rows whose logits a worker computes at once
	phases   struct{ begin, layer, head func(worker, tile int) }
}

// row is one token of the step.
type row struct {
	sequence *model.Sequence
	position int
	token    int32
}

// place is a row whose logits are wanted.
type place struct{ row, index int }

// maxTile bounds the rows that a worker takes at once: enough to use each weight
// several times, few enough for their activations to stay in the caches.
const maxTile = 16

// New returns an executor for w.
func New(w *model.Weights, c Config) (*Executor, error) {
	if c.Blocks < 1 || c.BlockSize < 1 {
		return nil, fmt.Errorf("a cache of %d blocks of %d tokens holds nothing", c.Blocks, c.BlockSize)
	}
	if c.MaxPositions == 0 {
		c.MaxPositions = w.MaxPositions
	}
	if c.MaxPositions < 1 || c.MaxPositions > w.MaxPositions {
		return nil, fmt.Errorf("sequences of %d tokens: the model was made for at most %d", c.MaxPositions, w.MaxPositions)
	}
	if c.Workers == 0 {
		c.Workers = runtime.GOMAXPROCS(0)
	}
	e := &Executor{
		weights: w,
		packed:  packAll(w),
		cache:   newCache(w.Shape, c.Blocks, c.BlockSize),
		rotary:  newRotary(w.Shape, c.MaxPositions),
		limit:   c.MaxPositions,
		team:    newTeam(c.Workers),
		scratch: make([]scratch, c.Workers),
	}
	for i := range e.scratch {
		e.scratch[i] = newScratch(w.Shape, kv.BlocksFor(c.MaxPositions, c.BlockSize)*c.BlockSize)
	}
	e.phases.begin, e.phases.layer, e.phases.head = e.beginTile, e.layerTile, e.sampleTile
	return e, nil
}

// Close ends the executor's goroutines.
func (e *Executor) Close() { e.team.close() }

// Execute runs one step: it stores K and V of all tokens of the sequences and
// sets Next where a sample is wanted.
//
// The layers are phases with a barrier between them: a token's attention needs
// K and V of the tokens before it, which may be in another worker's tile.
func (e *Executor) Execute(sequences []*model.Sequence) error {
	if err := e.plan(sequences); err != nil {
		return err
	}
	for _, s := range sequences {
		for _, c := range s.Copies {
			e.cache.copy(c)
		}
	}
	n := tiles(len(e.rows), e.tile)
	e.team.run(n, e.phases.begin)
	for e.layer = range e.weights.Layers {
		e.team.run(n, e.phases.layer)
	}
	e.team.run(len(e.heads), e.phases.head)
	return nil
}

// plan lays out the step's tokens as rows.
func (e *Executor) plan(sequences []*model.Sequence) error {
	e.rows, e.sampled = e.rows[:0], e.sampled[:0]
	for i, s := range sequences {
		end := s.Start + len(s.Tokens)
		if s.Start < 0 || len(s.Tokens) == 0 || end > e.limit {
			return fmt.Errorf("sequence %d runs tokens %d to %d, expected a part of 0 to %d", i, s.Start, end, e.limit)
		}
		if err := e.cache.check(s.Blocks, end); err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
		for _, c := range s.Copies {
			if err := e.cache.check([]kv.Block{c.From, c.To}, 0); err != nil {
				return fmt.Errorf("sequence %d copies: %w", i, err)
			}
		}
		for j, token := range s.Tokens {
			if token < 0 || int(token) >= e.weights.Vocab {
				return fmt.Errorf("sequence %d: token %d is outside the vocabulary of %d", i, token, e.weights.Vocab)
			}
			e.rows = append(e.rows, row{s, s.Start + j, token})
		}
		places := s.Places()
		if places > len(s.Tokens) {
			return fmt.Errorf("sequence %d: logits after %d of %d tokens", i, places, len(s.Tokens))
		}
		for p := range places {
			e.sampled = append(e.sampled, place{len(e.rows) - places + p, p})
		}
	}
	e.x = grow(e.x, len(e.rows)*e.weights.Hidden)
	e.q = grow(e.q, len(e.rows)*e.weights.Queries())
	e.tile = max(1, min(maxTile, tiles(len(e.rows), len(e.scratch))))
	e.headTile = max(1, min(maxHeadTile, tiles(len(e.sampled), len(e.scratch))))
	e.planHeads()
	return nil
}

// planHeads divides the places among workers: all of a sequence go to one, because
// what is sampled in one decides about the next.
func (e *Executor) planHeads() {
	e.heads = e.heads[:0]
	first := 0
	for i, p := range e.sampled {
		if p.index == 0 && i-first >= e.headTile {
			e.heads = append(e.heads, [2]int{first, i})
			first = i
		}
	}
	if first < len(e.sampled) {
		e.heads = append(e.heads, [2]int{first, len(e.sampled)})
	}
}

// tiles is how many tiles of the given size hold n rows.
func tiles(n, size int) int { return (n + size - 1) / size }

func grow(s []float32, n int) []float32 {
	if cap(s) < n {
		return make([]float32, n)
	}
	return s[:n]
}

// scale of the attention scores, applied to the queries.
func scoreScale(s model.Shape) float32 { return float32(1 / math.Sqrt(float64(s.HeadDim))) }
