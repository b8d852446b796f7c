package sched

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/kv"
)

// draw returns a number from lo to hi; name is for the reader of a failure.
type draw func(name string, lo, hi int) int

func fromRapid(t *rapid.T) draw {
	return func(name string, lo, hi int) int { return rapid.IntRange(lo, hi).Draw(t, name) }
}

func fromSeed(seed uint64) draw {
	rng := rand.New(rand.NewPCG(seed, 0))
	return func(_ string, lo, hi int) int { return lo + rng.IntN(hi-lo+1) }
}

// drawDriver draws a configuration in which blocks, budget and slots are scarce.
// ahead is 0, 1, or the stages of a pipeline.
func drawDriver(draw draw, ahead int) *driver {
	cfg := Config{
		MaxNumSeqs:                draw("max_num_seqs", 1, 6),
		MaxNumBatchedTokens:       draw("max_num_batched_tokens", 1, 24),
		MaxModelLen:               draw("max_model_len", 2, 64),
		LongPrefillTokenThreshold: max(0, draw("threshold", -8, 8)),
		Policy:                    Policy(draw("policy", 0, 1)),
		DisablePrefixCache:        draw("no prefix cache", 0, 4) == 0,
		ReserveFullPrompt:         draw("reserve", 0, 1) == 1,
		Watermark:                 float64(draw("watermark", 0, 3)) / 10,
		Static:                    draw("static", 0, 4) == 0,
	}
	if ahead > 1 {
		cfg.Pipeline = ahead
		ahead--
	}
	if draw("no chunks", 0, 3) == 0 {
		cfg.DisableChunkedPrefill = true
		cfg.MaxNumBatchedTokens = max(cfg.MaxNumBatchedTokens, cfg.MaxModelLen)
	}
	d := newDriver(cfg, draw("blocks", 2, 30), draw("block size", 1, 5), ahead)
	if n := draw("host", -20, 20); n > 0 {
		d.s.pool.SetHost(kv.NewHost(n))
	}
	return d
}

// drawPrompt draws a prompt whose beginning is shared within one of three
// groups, and whose end is nobody else's.
func drawPrompt(draw draw, id ID, longest int) []int {
	prompt := make([]int, draw("prompt", 1, max(1, longest)))
	group, shared := draw("group", 1, 3), draw("shared", 0, len(prompt))
	for i := range prompt {
		prompt[i] = group*100 + i
		if i >= shared {
			prompt[i] = int(id)*1_000_000 + i
		}
	}
	return prompt
}

// randomRun performs random operations, then lets everything finish, and returns
// a line for each batch.
func randomRun(t tester, draw draw) []string {
	d := drawDriver(draw, draw("ahead", 0, 4))
	if most := draw("drafts", -3, 3); most > 0 {
		d.propose = func() int { return draw("proposed", 0, most) }
		d.accept = func(drafts int) int { return draw("accepted", 0, drafts) }
	}
	var log []string
	next, aborted := ID(1), map[ID]bool{}
	for range draw("operations", 10, 60) {
		switch draw("operation", 0, 10) {
		case 0, 1, 2:
			randomAdd(t, d, draw, next)
			next++
		case 3:
			id := ID(draw("id", 0, int(next)))
			_, done := d.finished[id]
			alive := d.tokens[id] != nil && !done && !aborted[id]
			if got := d.abort(t, id); got != alive {
				t.Fatalf("Abort(%d) = %t, want %t", id, got, alive)
			}
			aborted[id] = aborted[id] || alive
		case 4:
			used := d.s.pool.Usable() - d.s.pool.Free()
			if err := d.s.ResetPrefixCache(); (err == nil) != (used == 0) {
				t.Fatalf("ResetPrefixCache with %d blocks in use: %v", used, err)
			}
		case 5:
			if len(d.loads) > 0 {
				d.loaded(t, draw("load", 0, len(d.loads)-1))
			}
		default:
			if len(d.inFlight) <= d.ahead {
				if b := d.schedule(t); b != nil {
					log = append(log, fmt.Sprint(shape(b), b.Preempted))
				}
			} else {
				d.complete(t)
			}
		}
	}
	d.drain(t, 20_000)
	for id := range d.tokens {
		if !aborted[id] {
			checkFinished(t, d, id)
		}
	}
	return log
}

func randomAdd(t tester, d *driver, draw draw, id ID) {
	prompt := drawPrompt(draw, id, d.s.Window()+1)
	req := Request{
		ID:            id,
		MaxTokens:     draw("max tokens", 1, 20),
		Priority:      draw("priority", 0, 2),
		Arrival:       d.now,
		SkipCacheRead: draw("skip", 0, 9) == 0,
	}
	if draw("loaded", 0, 4) == 0 {
		req.Loaded = draw("tokens", 1, len(prompt))
	}
	d.stopAfter[id] = max(0, draw("stop after", -10, 10))
	if d.ahead == 0 {
		for i := range max(0, draw("siblings", -6, 3)) {
			d.forks[id] = append(d.forks[id], Request{ID: id*1000 + ID(i), MaxTokens: draw("sibling's tokens", 1, 20), Priority: req.Priority, Arrival: d.now})
		}
	}
	err := d.try(req, prompt, draw("salt", 0, 1))
	var tooLong *TooLongError
	if fits := len(prompt) < d.s.Window(); fits != (err == nil) || !fits && !errors.As(err, &tooLong) {
		t.Fatalf("Add of %d tokens into a window of %d: %v", len(prompt), d.s.Window(), err)
	}
	d.check(t)
}

// checkFinished requires that a request which nobody aborted has ended as its
// limits say, with every token computed once, unless it had to recompute.
func checkFinished(t tester, d *driver, id ID) {
	f, ok := d.finished[id]
	if !ok {
		t.Fatalf("request %d has not finished", id)
	}
	stop := d.stopAfter[id]
	if (f.Reason == Stop) != (stop > 0 && f.Output == stop) {
		t.Fatalf("%+v, though it stops after %d", f, stop)
	}
	// The last token is sampled, but never computed; one that stopped with its
	// next step already in flight has run one token too many.
	want := d.prompts[id] + f.Output - 1
	extra := d.computed[id] + d.saved[id] - d.rejected[id] - want
	late := f.Reason == Stop && extra > 0 && (d.ahead == 1 && extra == 1 || d.propose != nil)
	if f.Preemptions == 0 && extra != 0 && !late && !d.forked[id] || extra < 0 {
		t.Fatalf("%+v: computed %d and saved %d tokens, want %d", f, d.computed[id], d.saved[id], want)
	}
}

// TestRandomSequencesLeaveEveryBlockFree runs 1,000 random sequences of adds,
// aborts, steps and finishes. Integrity is checked after every operation.
func TestRandomSequencesLeaveEveryBlockFree(t *testing.T) {
	for seed := range uint64(1000) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { randomRun(t, fromSeed(seed)) })
	}
}

// TestDeterminism requires that the same operations give the same batches.
func TestDeterminism(t *testing.T) {
	for seed := range uint64(50) {
		if diff := cmp.Diff(randomRun(t, fromSeed(seed)), randomRun(t, fromSeed(seed))); diff != "" {
			t.Fatalf("seed %d (-first +second):\n%s", seed, diff)
		}
	}
}

func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { randomRun(t, fromRapid(t)) })
}

func FuzzScheduler(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { randomRun(t, fromRapid(t)) }))
}

// TestOneStepAheadComposesTheSameBatches requires the same entries, blocks and
// preemptions whether or not Schedule runs ahead of Complete.
func TestOneStepAheadComposesTheSameBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		var logs [2][]Batch
		for ahead := range 2 {
			draw := fromSeed(seed)
			d := drawDriver(draw, ahead)
			d.s.pool.SetHost(nil) // whose loads take time
			steps := draw("steps", 1, 30)
			for id := ID(1); d.s.Len() > 0 || steps > 0; steps-- {
				for range draw("adds", 0, 2) {
					prompt := drawPrompt(draw, id, d.s.Window()-1)
					if steps > 0 && len(prompt) < d.s.Window() {
						d.addPrompt(t, Request{ID: id, MaxTokens: draw("max tokens", 1, 20), Priority: draw("priority", 0, 2)}, 0, prompt...)
					}
					id++
				}
				if b := d.step(t); b != nil {
					logs[ahead] = append(logs[ahead], *b)
				}
			}
			d.idle(t)
		}
		if diff := cmp.Diff(logs[0], logs[1], cmpopts.IgnoreUnexported(Batch{})); diff != "" {
			t.Fatalf("batches (-sync +one step ahead):\n%s", diff)
		}
	})
}

// TestSaltsNeverShare lets requests with the same prompts and different salts
// run one after the other and together.
func TestSaltsNeverShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := fromRapid(t)
		d := newDriver(Config{MaxNumSeqs: 3, MaxNumBatchedTokens: 16, MaxModelLen: 64}, 200, draw("block size", 1, 5), 0)
		prompt := drawPrompt(draw, 0, 40)
		for i := range 5 {
			d.addPrompt(t, Request{ID: ID(i), MaxTokens: 3}, i, prompt...)
		}
		d.drain(t, 1000)
		if st := d.s.Stats(); st.PrefixHits != 0 || st.PrefixQueries != int64(5*len(prompt)) {
			t.Fatalf("prompt of %d tokens under 5 salts: %+v", len(prompt), st)
		}
	})
}
