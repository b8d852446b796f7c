package sched

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/llmctl/llmctl/engine/kv"
)

// twin is a scheduler that is driven in rounds, and what a driver of rounds knows
// of each request from what they list.
type twin struct {
	s      *Scheduler
	round  *Round
	tokens map[ID]int // prompt and outputs
	since  map[ID]bool
}

// named is the hash of a block by numbers.
func named(kind, of, i int) (h kv.Hash) {
	binary.LittleEndian.PutUint32(h[:], uint32(kind))
	binary.LittleEndian.PutUint32(h[4:], uint32(of))
	binary.LittleEndian.PutUint32(h[8:], uint32(i))
	return h
}

// begin composes a round and writes it out as the batch that it stands for.
func (w *twin) begin(t *rapid.T, now time.Duration) *Batch {
	w.round = w.s.Begin(now)
	n := w.round
	if n == nil {
		return nil
	}
	for _, id := range n.Joined {
		w.since[id] = true
	}
	for _, id := range n.Left {
		if !w.since[id] {
			t.Fatalf("request %d leaves and had not joined", id)
		}
		delete(w.since, id)
	}
	b := &Batch{Step: n.Step, At: n.At, Preempted: slices.Clone(n.Preempted)}
	sum, steady, entries := int64(0), 0, n.Entries
	for _, r := range w.s.running {
		id := r.req.ID
		switch {
		case w.since[id]:
			steady++
			sum += int64(w.tokens[id] - 1)
			b.Entries = append(b.Entries, Entry{
				ID: id, Start: w.tokens[id] - 1, Tokens: 1, Blocks: slices.Clone(r.table), Cached: r.cached, Sample: true,
			})
		case len(entries) > 0 && entries[0].ID == id:
			e := entries[0]
			e.Blocks = slices.Clone(e.Blocks)
			b.Entries, entries = append(b.Entries, e), entries[1:]
		}
	}
	for _, e := range b.Entries {
		b.Tokens += e.Tokens
	}
	if len(entries) > 0 || steady != n.Steady || sum != n.Context {
		t.Fatalf("%d entries of nobody who runs, %d steady with %d tokens, want %d with %d", len(entries), n.Steady, n.Context, steady, sum)
	}
	return b
}

func (w *twin) end() []Finished {
	sampled := []ID{}
	for _, e := range w.round.Entries {
		if e.Sample {
			sampled = append(sampled, e.ID)
		}
	}
	done := slices.Clone(w.s.End(w.round))
	w.round = nil
	for _, id := range sampled {
		w.tokens[id]++
	}
	for id := range w.since {
		w.tokens[id]++
	}
	for _, f := range done {
		delete(w.since, f.ID)
	}
	return done
}

func (w *twin) abort(id ID) bool {
	delete(w.since, id)
	return w.s.Abort(id)
}

// pair is the same work done in batches and in rounds.
type pair struct {
	plain  *Scheduler
	rounds *twin
	batch  *Batch
	now    time.Duration
	equal  bool // the pools too must be the same in all that they hold
}

func (p *pair) begin(t *rapid.T) {
	p.now += time.Millisecond
	p.batch = p.plain.Schedule(p.now)
	got := p.rounds.begin(t, p.now)
	if (p.batch == nil) != (got == nil) {
		t.Fatalf("batch %v, round %v", p.batch, got)
	}
	if got == nil {
		return
	}
	ignore := cmp.FilterPath(func(path cmp.Path) bool { return path.Last().String() == ".seqs" }, cmp.Ignore())
	if diff := cmp.Diff(p.batch, got, ignore, cmp.AllowUnexported(Batch{}), equateEmpty); diff != "" {
		t.Fatalf("step %d (-batch +round):\n%s", p.batch.Step, diff)
	}
	p.check(t)
}

var equateEmpty = cmp.FilterValues(func(a, b []ID) bool { return len(a) == 0 && len(b) == 0 }, cmp.Ignore())

func (p *pair) end(t *rapid.T) []Finished {
	var results []Result
	for i := range p.batch.Entries {
		results = append(results, outcome(&p.batch.Entries[i]))
	}
	want := slices.Clone(p.plain.Complete(p.batch, results))
	p.batch = nil
	if diff := cmp.Diff(want, p.rounds.end()); len(want) > 0 && diff != "" {
		t.Fatalf("finished (-batch +round):\n%s", diff)
	}
	p.check(t)
	return want
}

// stretch advances the rounds at most so many times at once, and the batches one by
// one.
func (p *pair) stretch(t *rapid.T, most int) (n int) {
	var contexts []int64
	n = p.rounds.s.Advance(func(steady int, context int64) bool {
		if steady != len(p.rounds.since) {
			t.Fatalf("%d in steady decode, want %d", steady, len(p.rounds.since))
		}
		if len(contexts) == most {
			return false
		}
		contexts = append(contexts, context)
		return true
	})
	if n != len(contexts) {
		t.Fatalf("%d rounds of %d that were to run", n, len(contexts))
	}
	for i := range n {
		p.now += time.Millisecond
		b := p.plain.Schedule(p.now)
		sum, results := int64(0), []Result{}
		for j := range b.Entries {
			e := &b.Entries[j]
			if !p.rounds.since[e.ID] || e.Tokens != 1 || !e.Sample {
				t.Fatalf("round %d of %d has an entry %+v", i+1, n, e)
			}
			sum += int64(e.Start)
			results = append(results, outcome(e))
			p.rounds.tokens[e.ID]++
		}
		if len(b.Entries) != len(p.rounds.since) || sum != contexts[i] || len(b.Preempted) > 0 {
			t.Fatalf("round %d of %d: %d entries after %d tokens and %d preempted, want %d after %d", i+1, n, len(b.Entries), sum, len(b.Preempted), len(p.rounds.since), contexts[i])
		}
		if done := p.plain.Complete(b, results); len(done) > 0 {
			t.Fatalf("%d requests end in round %d of %d", len(done), i+1, n)
		}
	}
	if n > 0 && p.plain.Held() != p.rounds.s.Held() {
		t.Fatalf("held by %v, in rounds by %v", p.plain.Held(), p.rounds.s.Held())
	}
	p.check(t)
	return n
}

func (p *pair) check(t *rapid.T) {
	if diff := cmp.Diff(p.plain.Stats(), p.rounds.s.Stats()); diff != "" {
		t.Fatalf("stats (-batch +round):\n%s", diff)
	}
	if p.equal && !reflect.DeepEqual(p.plain.pool, p.rounds.s.pool) {
		t.Fatal("the pools differ")
	}
	if err := p.rounds.s.CheckIntegrity(); err != nil {
		t.Fatal(err)
	}
}

// crowd is a random workload: some requests share their group's beginning, some
// are turns of a conversation that goes on, and some share nothing.
type crowd struct {
	next  ID
	turns map[int]int // tokens of each conversation so far
	of    map[ID]int
	size  int
}

func (c *crowd) request(draw draw, window int, now time.Duration) (plain, private Request) {
	c.next++
	id := c.next
	prompt := draw("prompt", 1, max(1, window-1))
	req := Request{ID: id, Prompt: prompt, MaxTokens: draw("max tokens", 1, 40), Priority: draw("priority", 0, 2), Arrival: now}
	req.SkipCacheRead = draw("skip", 0, 9) == 0
	shared := 0
	switch draw("kind", 0, 3) {
	case 0:
		conversation := draw("conversation", 1, 3)
		if before := c.turns[conversation]; before > 0 && before < window-1 {
			req.Prompt = draw("turn", before, window-1)
		}
		c.of[id] = conversation
		req.Hash = func(i int) kv.Hash { return named(1, conversation, i) }
	case 1:
		group := draw("group", 1, 2)
		prefix := draw("prefix", 0, req.Prompt)
		if shared = prefix / c.size; shared == 0 {
			shared = -1
		}
		req.Hash = func(i int) kv.Hash {
			if i < shared {
				return named(2, group, i)
			}
			return named(3, int(id), i)
		}
	case 2:
		shared = -1
		req.Hash = func(i int) kv.Hash { return named(3, int(id), i) }
	}
	private = req
	private.Shared = shared
	return req, private
}

// runPair drives both with the same random operations until all is done.
func runPair(t *rapid.T, private, stretches bool) (advanced int) {
	draw := fromRapid(t)
	cfg := Config{
		MaxNumSeqs:                draw("max_num_seqs", 1, 12),
		MaxNumBatchedTokens:       draw("max_num_batched_tokens", 1, 40),
		MaxModelLen:               draw("max_model_len", 2, 80),
		LongPrefillTokenThreshold: max(0, draw("threshold", -8, 8)),
		Policy:                    Policy(draw("policy", 0, 1)),
		DisablePrefixCache:        draw("no prefix cache", 0, 4) == 0,
		ReserveFullPrompt:         draw("reserve", 0, 1) == 1,
	}
	if draw("no chunks", 0, 3) == 0 {
		cfg.DisableChunkedPrefill = true
		cfg.MaxNumBatchedTokens = max(cfg.MaxNumBatchedTokens, cfg.MaxModelLen)
	}
	blocks, size := draw("blocks", 2, 100), draw("block size", 1, 5)
	p := &pair{
		plain:  New(cfg, kv.NewPool(blocks, size)),
		rounds: &twin{s: New(cfg, kv.NewPool(blocks, size)), tokens: map[ID]int{}, since: map[ID]bool{}},
		equal:  !private,
	}
	c := &crowd{turns: map[int]int{}, of: map[ID]int{}, size: size}
	add := func() {
		if p.plain.Window() < 2 {
			return
		}
		plain, shared := c.request(draw, p.plain.Window(), p.now)
		if !private {
			shared = plain
		}
		a, b := p.plain.Add(&plain), p.rounds.s.Add(&shared)
		if fmt.Sprint(a) != fmt.Sprint(b) || a != nil {
			t.Fatalf("adding: %v and %v", a, b)
		}
		p.rounds.tokens[plain.ID] = plain.Prompt
	}
	step := func() {
		if p.batch == nil {
			if stretches {
				advanced += p.stretch(t, draw("rounds", 0, 30))
			}
			p.begin(t)
			return
		}
		for _, f := range p.end(t) {
			c.turns[c.of[f.ID]] = p.rounds.tokens[f.ID]
		}
	}
	for range draw("operations", 10, 150) {
		switch draw("operation", 0, 12) {
		case 0, 1, 2:
			add()
		case 3:
			id := ID(draw("id", 0, int(c.next)))
			if a, b := p.plain.Abort(id), p.rounds.abort(id); a != b {
				t.Fatalf("Abort(%d) = %t and %t", id, a, b)
			}
			p.check(t)
		default:
			step()
		}
	}
	for p.batch != nil || p.plain.Len() > 0 {
		step()
	}
	if n := p.rounds.s.Len(); n != 0 {
		t.Fatalf("%d requests are left in rounds", n)
	}
	return advanced
}

// TestRoundsAreSteps requires that rounds run the same entries on the same blocks
// as batches, preempt and finish the same requests and leave the same pool.
func TestRoundsAreSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { runPair(t, false, false) })
}

// TestPrivateBlocksChangeNothing requires the same hits and the same blocks
// whether or not blocks that nobody asks for are offered.
func TestPrivateBlocksChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { runPair(t, true, false) })
}

// TestStretchesAreSteps requires that rounds which are advanced many at once leave
// the same blocks, counts and requests as batches one by one.
func TestStretchesAreSteps(t *testing.T) {
	advanced := 0
	rapid.Check(t, func(t *rapid.T) {
		advanced += runPair(t, rapid.Bool().Draw(t, "private"), true)
	})
	if advanced == 0 {
		t.Error("no round was ever advanced: the test shows nothing")
	}
}
