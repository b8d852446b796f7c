package cpu

import (
	"fmt"
	"math"
	"runtime"

	"github.com/llmctl/llmctl/engine/cpu/attention"
	"github.com/llmctl/llmctl/engine/cpu/matrix"
	"github.com/llmctl/llmctl/engine/cpu/team"
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
	layers  []layer
	head    matrix.Matrix
	cache   *attention.Cache
	limit   int // positions
	team    *team.Team
	workers []worker
	scale   float32 // of queries
	each    phases

	// The step in progress.
<<<<<<< HEAD
	rows    []row       // one per token
	places  []place     // whose logits are wanted
	layer   int         // in work
	x       []float32   // residual stream, [row][hidden]
	update  []float32   // what a layer adds to it, where that goes through a norm first
	angles  []angles    // per rotary embedding
	normed  matrix.Rows // input of a layer's matrices
	qkv     []float32   // [row][queries + keys + values]
	mixed   matrix.Rows // attention's output
	gated   matrix.Rows // the MLP's inner activations, per row or per slot of an expert
	groups  []group
	inputs  *matrix.Rows // of the groups' MLPs
	product product
	spread  spread
	routing routing
	ends    matrix.Rows // input of the output head
	logits  []float32   // [place of the round][padded vocabulary]
	round   []place
	turns   []turn
}

// worker is what one worker has for itself.
type worker struct {
	tile      []float32 // outputs of a part of a product
	up        []float32
	attention attention.Scratch
	sampler   model.Sampler
=======
	rows     []row     // one per token
	sampled  []place   // rows whose logits are wanted
	heads    [][2]int  // parts of sampled, all places of a sequence in one
	x        []float32 // residual stream, [row][hidden]
	q        []float32 // queries, then attention output, [row][queries]
	layer    int
	tile     int // rows per tile
	headTile int // rows whose logits a worker computes at once
	phases   struct{ begin, layer, head func(worker, tile int) }
>>>>>>> refs/heads/engine
}

// row is one token of the step.
type row struct {
	sequence *model.Sequence
	position int
	token    int32
}

<<<<<<< HEAD
// New returns an executor for w, whose matrices it packs.
=======
// place is a row whose logits are wanted.
type place struct{ row, index int }

// maxTile bounds the rows that a worker takes at once: enough to use each weight
// several times, few enough for their activations to stay in the caches.
const maxTile = 16

// New returns an executor for w.
>>>>>>> refs/heads/engine
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
		weights: w, limit: c.MaxPositions, scale: w.QueryScale,
		team: team.New(c.Workers), workers: make([]worker, c.Workers),
	}
	if e.scale == 0 {
		e.scale = float32(1 / math.Sqrt(float64(w.HeadDim)))
	}
	for i := range e.workers {
		e.workers[i].tile, e.workers[i].up = make([]float32, tileOutputs), make([]float32, tileOutputs)
	}
	for _, r := range w.Ropes {
		e.angles = append(e.angles, angles{rope: r})
	}
	e.each = e.bind()
	if err := e.pack(); err != nil {
		e.Close()
		return nil, err
	}
	e.cache = attention.New(w.Shape, c.Blocks, c.BlockSize)
	return e, nil
}

// Close ends the executor's goroutines.
func (e *Executor) Close() { e.team.Close() }

// Execute runs one step: it copies the blocks that sequences ask for, stores K and V
// of all their tokens, and hands the logits of their places to the sampler.
func (e *Executor) Execute(sequences []*model.Sequence) error {
	if err := e.plan(sequences); err != nil {
		return err
	}
	for _, s := range sequences {
		for _, c := range s.Copies {
<<<<<<< HEAD
			e.cache.Copy(c)
		}
	}
	e.team.Run(tiles(len(e.rows), e.rowsPerPart()), e.each.begin)
	for e.layer = range e.layers {
		e.attend()
		e.feedForward()
	}
	e.sample()
=======
			e.cache.copy(c)
		}
	}
	n := tiles(len(e.rows), e.tile)
	e.team.run(n, e.phases.begin)
	for e.layer = range e.weights.Layers {
		e.team.run(n, e.phases.layer)
	}
	e.team.run(len(e.heads), e.phases.head)
>>>>>>> refs/heads/engine
	return nil
}

// plan lays out the step's tokens as rows.
func (e *Executor) plan(sequences []*model.Sequence) error {
	e.rows, e.places = e.rows[:0], e.places[:0]
	for i, s := range sequences {
		end := s.Start + len(s.Tokens)
		if s.Start < 0 || len(s.Tokens) == 0 || end > e.limit {
			return fmt.Errorf("sequence %d runs tokens %d to %d, expected a part of 0 to %d", i, s.Start, end, e.limit)
		}
		if err := e.cache.Check(s, end); err != nil {
			return fmt.Errorf("sequence %d: %w", i, err)
		}
<<<<<<< HEAD
		wanted := s.Places()
		if wanted > len(s.Tokens) {
			return fmt.Errorf("sequence %d wants logits after %d tokens and runs %d", i, wanted, len(s.Tokens))
=======
		for _, c := range s.Copies {
			if err := e.cache.check([]kv.Block{c.From, c.To}, 0); err != nil {
				return fmt.Errorf("sequence %d copies: %w", i, err)
			}
>>>>>>> refs/heads/engine
		}
		for j, token := range s.Tokens {
			if token < 0 || int(token) >= e.weights.Vocab {
				return fmt.Errorf("sequence %d: token %d is outside the vocabulary of %d", i, token, e.weights.Vocab)
			}
			if k := j - len(s.Tokens) + wanted; k >= 0 {
				e.places = append(e.places, place{sequence: i, row: len(e.rows), number: k})
			}
			e.rows = append(e.rows, row{s, s.Start + j, token})
		}
<<<<<<< HEAD
	}
	e.reserve(len(e.rows))
	return nil
}

// reserve makes room for a step of n rows.
func (e *Executor) reserve(n int) {
	w := e.weights
	e.x, e.update = grow(e.x, n*w.Hidden), grow(e.update, n*w.Hidden)
	e.qkv = grow(e.qkv, n*(w.Queries()+2*w.Keys()))
	e.normed.Resize(n, w.Hidden)
	e.mixed.Resize(n, w.Queries())
	for i := range e.angles {
		e.angles[i].resize(n)
	}
}
=======
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
>>>>>>> refs/heads/engine

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
