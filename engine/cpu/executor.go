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
	Blocks       int             // physical KV blocks
	BlockSize    int             // tokens per block
	MaxPositions int             // longest sequence; 0 is the model's own limit
	Workers      int             // goroutines that compute; 0 is GOMAXPROCS
	KV           attention.DType // of the cache; Auto is that of the weights, or less
}

// Executor runs steps of a model. It is used by one goroutine at a time.
type Executor struct {
	weights   *model.Weights
	layers    []layer
	head      matrix.Matrix
	cache     *attention.Cache
	attention *attention.Plan
	limit     int // positions
	team      *team.Team
	workers   []worker
	scale     float32 // of queries
	each      phases

	// The step in progress.
	rows    []row          // one per token
	places  []place        // whose logits are wanted
	layer   int            // in work
	x       []float32      // residual stream, [row][hidden]
	update  []float32      // what a layer adds to it, where that goes through a norm first
	angles  []angles       // per rotary embedding
	normed  matrix.Rows    // input of a layer's matrices
	qkv     []float32      // [row][queries + keys + values]
	mixed   matrix.Rows    // attention's output
	between attention.Rows // those two, as attention sees them
	gated   matrix.Rows    // the MLP's inner activations, per row or per slot of an expert
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
}

// row is one token of the step.
type row struct {
	sequence *model.Sequence
	position int
	token    int32
}

// New returns an executor for w, whose matrices it packs.
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
	e.cache = attention.New(w.Shape, c.KV.For(w), c.Blocks, c.BlockSize)
	e.attention = e.cache.NewPlan(c.Workers)
	return e, nil
}

// Close ends the executor's goroutines, and gives the cache's memory back.
func (e *Executor) Close() {
	e.team.Close()
	if e.cache != nil {
		_ = e.cache.Close() // what cannot be given back goes with the process
	}
}

// Execute runs one step: it copies the blocks that sequences ask for, stores K and V
// of all their tokens, and hands the logits of their places to the sampler.
func (e *Executor) Execute(sequences []*model.Sequence) error {
	if err := e.plan(sequences); err != nil {
		return err
	}
	for _, s := range sequences {
		for _, c := range s.Copies {
			e.cache.Copy(c)
		}
	}
	e.team.Run(tiles(len(e.rows), e.rowsPerPart()), e.each.begin)
	for e.layer = range e.layers {
		e.attend()
		e.feedForward()
	}
	e.sample()
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
		wanted := s.Places()
		if wanted > len(s.Tokens) {
			return fmt.Errorf("sequence %d wants logits after %d tokens and runs %d", i, wanted, len(s.Tokens))
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
	}
	e.reserve(len(e.rows))
	e.attention.Set(sequences)
	return nil
}

// reserve makes room for a step of n rows.
func (e *Executor) reserve(n int) {
	w := e.weights
	e.x, e.update = grow(e.x, n*w.Hidden), grow(e.update, n*w.Hidden)
	e.qkv = grow(e.qkv, n*(w.Queries()+2*w.Keys()))
	e.normed.Resize(n, w.Hidden)
	e.mixed.Resize(n, w.Queries())
	e.between.Queries, e.between.QueryStride = e.qkv, w.Queries()+2*w.Keys()
	e.between.Out, e.between.OutStride = e.mixed.Floats, e.mixed.Width
	for i := range e.angles {
		e.angles[i].resize(n)
	}
}

func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
