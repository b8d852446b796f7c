package sizing

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine/kv"
	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/sizing/cost"
)

// observed is what one request saw: seconds, and tokens.
type observed struct {
	ttft, tpot, e2e float64
	output          int
	hit             float64 // share of the prompt
}

// events drives the engine's own scheduler in virtual time: Poisson arrivals at
// a rate, or a fixed number of clients when clients is above 0, steps that last
// as long as the cost model says. It returns the requests that arrived after the
// warm-up, in order of completion.
type events struct {
	situation situation
	replica   replica
	memory    Memory
	rate      float64
	clients   int
	requests  int
	seed      uint64
	free      bool // prompts take no time, as in a decode pool
}

// newEvents resolves a request as Compute does.
func newEvents(t testing.TB, r Request) events {
	t.Helper()
	s, err := resolve(r)
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.newLayout()
	if err != nil {
		t.Fatal(err)
	}
	m := s.plannedMemory(l)
	s.raiseBlock(l)
	s.fitLength(&m, l)
	m.fill(s, l)
	x := s.warmMix(m, l)
	m.MixSequences = mixSequences(m, l, x)
	e := events{situation: *s, replica: s.newReplica(m, x), memory: m, requests: 6000, seed: 1}
	e.replica.constants.RequestS = 0 // no event of the engine
	return e
}

type pending struct {
	arrival, first float64
	prompt, output int
}

// draw returns a whole number of tokens of a distribution.
func (l lengths) draw(r *rand.Rand) int {
	return int(math.Round(max(1, min(l.limit, l.quantile(min(1-1e-9, max(1e-9, r.Float64())))))))
}

func (e events) run(t testing.TB) []observed {
	t.Helper()
	in := e.situation.inputs
	pool := kv.NewPool(int(e.memory.KVCacheBlocks), in.BlockSize)
	s := sched.New(sched.Config{
		MaxNumSeqs: in.MaxNumSeqs, MaxNumBatchedTokens: in.MaxNumBatchedTokens, MaxModelLen: in.MaxModelLen, ReserveFullPrompt: true,
	}, pool)
	w := e.situation.workload
	inputs, outputs := newLengths(w.Input, in.MaxModelLen), newLengths(w.Output, in.MaxModelLen)
	random := rand.New(rand.NewPCG(e.seed, 7))
	warm := e.requests / 6
	live := map[sched.ID]*pending{}
	var done []observed
	now, next, started := 0.0, 0.0, 0
	start := func(at float64) {
		p := &pending{arrival: at, prompt: inputs.draw(random), output: outputs.draw(random)}
		p.prompt = min(p.prompt, s.Window()-1)
		id := sched.ID(started)
		group := 0
		if w.Prefix.Groups > 0 {
			group = random.IntN(w.Prefix.Groups)
		}
		shared := w.Prefix.Tokens / in.BlockSize
		started++
		live[id] = p
		r := &sched.Request{ID: id, Prompt: p.prompt, MaxTokens: p.output}
		if w.Prefix.Groups > 0 {
			r.Hash = func(i int) kv.Hash {
				var h kv.Hash
				owner := uint64(id) + 1<<32
				if i < shared {
					owner = uint64(group)
				}
				binary.LittleEndian.PutUint64(h[:8], owner)
				binary.LittleEndian.PutUint64(h[8:], uint64(i))
				return h
			}
		}
		if err := s.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	for range e.clients {
		start(0)
	}
	arrive := func() {
		for e.clients == 0 && started < e.requests && next <= now {
			start(next)
			next += random.ExpFloat64() / e.rate
		}
	}
	var results []sched.Result
	for {
		arrive()
		b := s.Schedule(time.Duration(now * 1e9))
		if b == nil {
			if started >= e.requests {
				return done
			}
			now = next
			continue
		}
		now += e.step(b)
		results = results[:0]
		for _, entry := range b.Entries {
			if !entry.Sample {
				continue
			}
			results = append(results, sched.Result{ID: entry.ID, Tokens: 1})
			if p := live[entry.ID]; p.first == 0 {
				p.first = now
			}
		}
		for _, f := range s.Complete(b, results) {
			p := live[f.ID]
			delete(live, f.ID)
			// A fixed number of clients is one only until the last request began.
			if int(f.ID) >= warm && (e.clients == 0 || started < e.requests) {
				o := observed{ttft: p.first - p.arrival, e2e: now - p.arrival, output: f.Output, hit: float64(f.Cached) / float64(p.prompt), tpot: math.NaN()}
				if f.Output > 1 {
					o.tpot = (now - p.first) / float64(f.Output-1)
				}
				done = append(done, o)
			}
			if e.clients > 0 && started < e.requests {
				start(now)
			}
		}
	}
}

// step is the time of a batch. Decodes are summed up by their mean context.
func (e events) step(b *sched.Batch) float64 {
	var batch cost.Batch
	decodes, context := 0.0, 0.0
	for _, entry := range b.Entries {
		if entry.Tokens == 1 && entry.Sample && !entry.Admitted {
			decodes++
			context += float64(entry.Start + 1)
			continue
		}
		if e.free {
			continue
		}
		batch.Prefill = append(batch.Prefill, cost.Prefill{Tokens: float64(entry.Tokens), Context: float64(entry.Start), Final: entry.Sample})
	}
	if decodes > 0 {
		batch.Decode = append(batch.Decode, cost.Decode{Sequences: decodes, Context: context / decodes})
	}
	r := e.replica
	return cost.StepTime(r.facts, r.device, r.constants, batch).Seconds
}

// measured are the mean and the 99th percentile of one time.
func measured(all []observed, of func(observed) float64) Quantiles {
	var v []float64
	sum := 0.0
	for _, o := range all {
		if x := of(o); !math.IsNaN(x) {
			v, sum = append(v, x), sum+x
		}
	}
	slices.Sort(v)
	at := func(p float64) float64 { return v[min(len(v)-1, int(p*float64(len(v))))] }
	return Quantiles{Mean: sum / float64(len(v)), P50: at(0.5), P99: at(0.99)}
}
