package sched

import (
	"encoding/binary"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/llmctl/llmctl/engine/kv"
)

// tester is what both *testing.T and *rapid.T are.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// flight is a batch that was scheduled and not completed, copied, because the
// scheduler reuses it.
type flight struct {
	batch   *Batch
	entries []Entry
}

// load is under way: it begins when the batches that were handed out before it
// have run.
type load struct {
	Load
	after uint64
}

// driver plays the engine and its executor, and checks the scheduler after every
// call. The executor remembers which content each slot of each block holds. An
// entry writes its tokens and then must find, through its block table, the whole
// sequence as it would be without sharing, preemption or reuse of blocks.
type driver struct {
	s         *Scheduler
	ahead     int        // batches that Schedule runs ahead of Complete: 0, 1 or stages − 1
	stopAfter map[ID]int // output tokens after which the executor decides to stop
	// propose is how many drafts a proposer has for the next entry of a request,
	// accept how many of them are right; nil is none.
	propose func() int
	accept  func(drafts int) int

	// forks are the siblings that a request gets with its first token.
	forks map[ID][]Request

	now      time.Duration
	inFlight []flight
	loads    []load
	prompts  map[ID]int
	arriving map[ID]int    // tokens that come with a request that was not admitted yet
	tokens   map[ID]*[]int // what the executor has: prompt and sampled tokens
	salts    map[ID]int
	memory   map[kv.Block][]uint64
	computed map[ID]int // tokens that ran, over all entries
	saved    map[ID]int // tokens that admissions skipped thanks to the cache, or that came loaded
	rejected map[ID]int // drafts that were wrong
	finished map[ID]Finished
	forked   map[ID]bool // siblings that were added
}

func newDriver(cfg Config, blocks, blockSize, ahead int) *driver {
	return &driver{
		s:         New(cfg, kv.NewPool(blocks, blockSize)),
		ahead:     ahead,
		stopAfter: map[ID]int{},
		prompts:   map[ID]int{},
		arriving:  map[ID]int{},
		tokens:    map[ID]*[]int{},
		salts:     map[ID]int{},
		memory:    map[kv.Block][]uint64{},
		computed:  map[ID]int{},
		saved:     map[ID]int{},
		rejected:  map[ID]int{},
		finished:  map[ID]Finished{},
		forked:    map[ID]bool{},
		forks:     map[ID][]Request{},
	}
}

func (d *driver) check(t tester) {
	t.Helper()
	if err := d.s.CheckIntegrity(); err != nil {
		t.Fatalf("integrity: %v", err)
	}
}

// add queues a request with a prompt of its own that nobody shares.
func (d *driver) add(t tester, req Request) {
	t.Helper()
	prompt := make([]int, req.Prompt)
	for i := range prompt {
		prompt[i] = int(req.ID)*1_000_000 + i
	}
	if err := d.try(req, prompt, 0); err != nil {
		t.Fatalf("Add: %v", err)
	}
	d.check(t)
}

// addPrompt queues a request with the given prompt and cache salt.
func (d *driver) addPrompt(t tester, req Request, salt int, prompt ...int) {
	t.Helper()
	if err := d.try(req, prompt, salt); err != nil {
		t.Fatalf("Add: %v", err)
	}
	d.check(t)
}

func (d *driver) try(req Request, prompt []int, salt int) error {
	tokens := slices.Clone(prompt)
	req.Prompt = len(prompt)
	req.Hash = chain(d.s.pool.BlockSize(), salt, &tokens)
	if err := d.s.Add(&req); err != nil {
		return err
	}
	d.tokens[req.ID], d.prompts[req.ID] = &tokens, len(prompt)
	d.salts[req.ID] = salt
	d.arriving[req.ID] = req.Loaded
	return nil
}

func (d *driver) abort(t tester, id ID) bool {
	t.Helper()
	ok := d.s.Abort(id)
	d.check(t)
	return ok
}

// step schedules a batch, then completes the one that is due, and returns a copy
// of what was scheduled: nil when there was nothing.
func (d *driver) step(t tester) *Batch {
	t.Helper()
	for len(d.inFlight) > d.ahead {
		d.complete(t)
	}
	b := d.schedule(t)
	for len(d.inFlight) > d.ahead || b == nil && len(d.inFlight) > 0 {
		d.complete(t)
	}
	for i, l := range d.loads { // a load lasts three steps, and no longer than anything else
		if b == nil || d.s.scheduled > l.after+2 {
			d.loaded(t, i)
			break
		}
	}
	return b
}

// schedule returns a copy of the next batch.
func (d *driver) schedule(t tester) *Batch {
	t.Helper()
	d.now += time.Millisecond
	b := d.s.Schedule(d.now)
	for _, l := range d.s.Loads() {
		d.loads = append(d.loads, load{l, d.s.scheduled})
	}
	d.check(t)
	d.checkHeld(t)
	if b == nil {
		// Without pipelines, drafts and loads there is always something to run.
		wait := len(d.inFlight) > 0 && (d.s.cfg.Pipeline > 1 || d.s.pool.Host() != nil || d.verifying())
		if n := d.s.Running() + d.s.Waiting(); n > 0 && !wait && len(d.loads) == 0 {
			t.Fatalf("nothing scheduled though %d requests are there", n)
		}
		return nil
	}
	snapshot := *b
	snapshot.Entries, snapshot.Preempted = slices.Clone(b.Entries), slices.Clone(b.Preempted)
	total := 0
	for i := range snapshot.Entries {
		e := &snapshot.Entries[i]
		e.Blocks = slices.Clone(e.Blocks)
		total += e.Tokens
		if e.Admitted && !d.forked[e.ID] {
			d.saved[e.ID] += e.Start
		}
		if got := b.Entries[i].Blocks; cap(got) != len(got) {
			t.Fatalf("an executor that appends to the table of entry %d writes into the scheduler's", i)
		}
		if want := kv.BlocksFor(e.Start+e.Tokens, d.s.pool.BlockSize()); e.Tokens < 1 || len(e.Blocks) < want || len(e.Blocks) > want && d.rejected[e.ID] == 0 {
			t.Fatalf("entry %+v should have %d blocks", *e, want)
		}
	}
	if total != b.Tokens || total > d.s.cfg.MaxNumBatchedTokens || total == 0 {
		t.Fatalf("batch of %d tokens says %d, budget %d", total, b.Tokens, d.s.cfg.MaxNumBatchedTokens)
	}
	d.inFlight = append(d.inFlight, flight{batch: b, entries: snapshot.Entries})
	return &snapshot
}

// complete runs and completes the oldest batch in flight.
func (d *driver) complete(t tester) []Finished {
	t.Helper()
	f := d.inFlight[0]
	d.inFlight = d.inFlight[1:]
	results := make([]Result, 0, len(f.entries))
	for _, e := range f.entries {
		if e.CopyTo != kv.Null {
			copy(d.slot(e.CopyTo), d.slot(e.CopyFrom))
		}
	}
	for i, e := range f.entries {
		if got := f.batch.Entries[i]; !slices.Equal(got.Blocks, e.Blocks) || got.ID != e.ID {
			t.Fatalf("entry %d changed in flight: %v, was %v", i, got, e)
		}
		results = append(results, d.run(t, e))
	}
	for _, e := range f.entries {
		d.fork(t, e.ID)
	}
	done := slices.Clone(d.s.Complete(f.batch, results))
	for _, fin := range done {
		if _, twice := d.finished[fin.ID]; twice {
			t.Fatalf("request %d finished twice", fin.ID)
		}
		d.finished[fin.ID] = fin
	}
	d.check(t)
	if len(d.inFlight) == 0 && d.s.pool.Cached() > 0 {
		d.checkCache(t)
	}
	return done
}

// fork adds the siblings of a request that has its first token.
func (d *driver) fork(t tester, parent ID) {
	t.Helper()
	if d.s.byID[parent] == nil || len(*d.tokens[parent]) == d.prompts[parent] {
		return
	}
	for _, req := range d.forks[parent] {
		tokens := slices.Clone(*d.tokens[parent])
		tokens[len(tokens)-1] = -int(req.ID)*1_000_000 - len(tokens) + 1
		req.Prompt = d.prompts[parent]
		req.Hash = chain(d.s.pool.BlockSize(), d.salts[parent], &tokens)
		d.prompts[req.ID], d.salts[req.ID] = req.Prompt, d.salts[parent]
		err := d.s.Fork(parent, &req)
		switch {
		case err == nil:
			d.tokens[req.ID] = &tokens
			d.saved[req.ID] = req.Prompt
			d.forked[req.ID] = true
		case !errors.Is(err, ErrNoTokens) || req.MaxTokens > 1 && req.Prompt+1 < d.s.Window():
			t.Fatalf("Fork: %v", err)
		}
	}
	delete(d.forks, parent)
}

// checkCache requires that every cached block of every sequence holds what its
// hash promises. It is true only while no batch is in flight, because blocks are
// offered when they are scheduled.
func (d *driver) checkCache(t tester) {
	t.Helper()
	size := d.s.pool.BlockSize()
	for id, tokens := range d.tokens {
		content := mix(0, d.salts[id])
		for p, token := range *tokens {
			content = mix(content, token)
			if (p+1)%size != 0 {
				continue
			}
			at := func(int) kv.Hash { return hashOf(content) }
			for _, b := range d.s.pool.Match(nil, at, 1) {
				if d.memory[b] == nil || d.memory[b][size-1] != content {
					t.Fatalf("block %d is cached for position %d of request %d, whose content it does not hold", b, p, id)
				}
			}
		}
	}
}

// run executes one entry on the remembered memory.
func (d *driver) run(t tester, e Entry) Result {
	t.Helper()
	size := d.s.pool.BlockSize()
	tokens := d.tokens[e.ID]
	drafts := int(e.Drafts)
	end := e.Start + e.Tokens - drafts
	if end > len(*tokens) || e.Sample != (end == len(*tokens)) || drafts > 0 && !e.Sample || len(*tokens)+drafts >= d.s.Window() {
		t.Fatalf("entry %+v of a sequence of %d tokens", e, len(*tokens))
	}
	d.place(e)
	for p := end; p < end+drafts; p++ { // what drafts write is nobody's
		d.slot(e.Blocks[p/size])[p%size] = ^uint64(0)
	}
	d.computed[e.ID] += e.Tokens
	content := mix(0, d.salts[e.ID])
	for p, token := range (*tokens)[:end] {
		content = mix(content, token)
		block := e.Blocks[p/size]
		slot := &d.slot(block)[p%size]
		if p >= e.Start {
			*slot = content
		} else if *slot != content {
			t.Fatalf("request %d reads foreign content at position %d in block %d", e.ID, p, block)
		}
	}
	if !e.Sample {
		return Result{ID: e.ID}
	}
	res := Result{ID: e.ID}
	accepted := 0
	if drafts > 0 {
		accepted = d.accept(drafts)
		d.rejected[e.ID] += drafts - accepted
	}
	for range 1 + accepted {
		// A draft that is right has written what its token gives.
		p, token := len(*tokens), -int(e.ID)*1_000_000-len(*tokens)
		*tokens = append(*tokens, token)
		content = mix(content, token)
		if res.Tokens++; res.Tokens <= accepted {
			d.slot(e.Blocks[p/size])[p%size] = content
		}
		if n := d.stopAfter[e.ID]; n > 0 && len(*tokens)-d.prompts[e.ID] >= n {
			res.Finish = Stop
			return res
		}
	}
	if d.propose != nil {
		res.Drafts = d.propose()
	}
	return res
}

func (d *driver) slot(b kv.Block) []uint64 {
	if d.memory[b] == nil {
		d.memory[b] = make([]uint64, d.s.pool.BlockSize())
	}
	return d.memory[b]
}

// write puts what tokens Start … of a sequence give into its blocks, as if they
// had been computed.
func (d *driver) write(id ID, blocks []kv.Block, start, end int) {
	content, size := mix(0, d.salts[id]), d.s.pool.BlockSize()
	for p, token := range (*d.tokens[id])[:end] {
		content = mix(content, token)
		if p >= start {
			d.slot(blocks[p/size])[p%size] = content
		}
	}
}

// place writes what came with a request that was computed elsewhere. What other
// entries find by then is not touched: the cache has it already.
func (d *driver) place(e Entry) {
	if !e.Admitted {
		return
	}
	size := d.s.pool.BlockSize()
	if n := d.arriving[e.ID]; n > 0 && e.Start == min(n, d.prompts[e.ID]-1) {
		d.write(e.ID, e.Blocks, e.Cached/size*size, e.Start)
	}
	delete(d.arriving, e.ID)
}

// loaded ends the i-th load.
func (d *driver) loaded(t tester, i int) {
	t.Helper()
	l := d.loads[i]
	d.loads = slices.Delete(d.loads, i, i+1)
	for d.s.completed < l.after && len(d.inFlight) > 0 {
		d.complete(t)
	}
	if want := (l.Start + l.Tokens) / d.s.pool.BlockSize(); l.Tokens < 1 || len(l.Blocks) != want {
		t.Fatalf("load %+v should have %d blocks", l, want)
	}
	d.write(l.ID, l.Blocks, l.Start, l.Start+l.Tokens)
	d.s.Loaded(l.Load)
	d.check(t)
}

// verifying tells whether a batch in flight has drafts.
func (d *driver) verifying() bool {
	for _, f := range d.inFlight {
		if slices.ContainsFunc(f.entries, func(e Entry) bool { return e.Drafts > 0 }) {
			return true
		}
	}
	return false
}

// checkHeld requires that the reason why nobody else was admitted is true.
func (d *driver) checkHeld(t tester) {
	t.Helper()
	s := d.s
	held := s.Held()
	switch {
	case (held == HeldNothing) != (len(s.waiting) == 0) && held != HeldBlocks,
		held == HeldSlots && s.Running() < s.cfg.MaxNumSeqs,
		held == HeldBatch && !s.cfg.Static && s.cfg.Pipeline < 2 && s.waiting[0].inFlight == 0,
		held == HeldBudget && s.budget > 0 && !s.cfg.DisableChunkedPrefill:
		t.Fatalf("held by %v with %d running, %d waiting and %d tokens left", held, s.Running(), s.Waiting(), s.budget)
	}
}

// drain runs until nothing is left, and fails when that takes more than limit
// steps or when blocks are lost.
func (d *driver) drain(t tester, limit int) {
	t.Helper()
	for range limit {
		if d.step(t) == nil && d.s.Len() == 0 {
			d.idle(t)
			return
		}
	}
	t.Fatalf("%d requests are left after %d steps", d.s.Len(), limit)
}

// idle requires that nobody is served and every block is free.
func (d *driver) idle(t tester) {
	t.Helper()
	st := d.s.Stats()
	if free, usable := d.s.pool.Free(), d.s.pool.Usable(); free != usable || st.Running != 0 || st.Waiting != 0 || st.Usage != 0 {
		t.Fatalf("%d of %d blocks are free, %+v", free, usable, st)
	}
}

func mix(h uint64, token int) uint64 {
	h = (h ^ uint64(token)) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// chain returns hashes of a sequence of tokens: block i is identified by the
// salt and all tokens up to its end. It reads the tokens when asked, and panics
// when asked for a block that is not full.
func chain(blockSize int, salt int, tokens *[]int) func(int) kv.Hash {
	return func(i int) kv.Hash {
		h := mix(0, salt)
		for _, token := range (*tokens)[:(i+1)*blockSize] {
			h = mix(h, token)
		}
		return hashOf(h)
	}
}

func hashOf(content uint64) (h kv.Hash) {
	binary.LittleEndian.PutUint64(h[:], content)
	return h
}

// shape is a batch without its blocks, short enough to write down.
func shape(b *Batch) [][3]int {
	var out [][3]int
	for _, e := range b.Entries {
		out = append(out, [3]int{int(e.ID), e.Start, e.Tokens})
	}
	return out
}

// bothWays runs a test synchronously and with Schedule one step ahead.
func bothWays(t *testing.T, f func(t *testing.T, ahead int)) {
	t.Helper()
	t.Run("sync", func(t *testing.T) { f(t, 0) })
	t.Run("one step ahead", func(t *testing.T) { f(t, 1) })
}
