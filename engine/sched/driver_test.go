package sched

import (
	"encoding/binary"
	"slices"
	"testing"

	"github.com/llmctl/llmctl/engine/kv"
)

// tester is what both *testing.T and *rapid.T are.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

var _ tester = (*testing.T)(nil)

// flight is a batch that was scheduled and not completed, copied, because the
// scheduler reuses it.
type flight struct {
	batch   *Batch
	entries []Entry
}

// driver plays the executor: it samples one token for every entry that asks for
// one, lets requests stop after stopAfter[id] tokens, and checks the scheduler
// after every call.
type driver struct {
	s         *Scheduler
	ahead     int // batches that Schedule runs ahead of Complete: 0 or 1
	stopAfter map[ID]int

	inFlight []flight
	sampled  map[ID]int // tokens that the executor produced
	computed map[ID]int // tokens that ran, over all entries
	saved    map[ID]int // tokens that admissions skipped thanks to the cache
	finished []Finished
}

func (d *driver) check(t tester) {
	t.Helper()
	if err := d.s.CheckIntegrity(); err != nil {
		t.Fatalf("integrity: %v", err)
	}
}

func (d *driver) add(t tester, req Request) {
	t.Helper()
	if err := d.s.Add(&req); err != nil {
		t.Fatalf("Add: %v", err)
	}
	d.check(t)
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
	var snapshot *Batch
	if b := d.schedule(t); b != nil {
		c := *b
		c.Entries = d.inFlight[len(d.inFlight)-1].entries
		c.Preempted = slices.Clone(b.Preempted)
		snapshot = &c
	}
	for len(d.inFlight) > d.ahead || snapshot == nil && len(d.inFlight) > 0 {
		d.complete(t)
	}
	return snapshot
}

func (d *driver) schedule(t tester) *Batch {
	t.Helper()
	if d.sampled == nil {
		d.sampled, d.computed, d.saved = map[ID]int{}, map[ID]int{}, map[ID]int{}
	}
	b := d.s.Schedule(0)
	d.check(t)
	if b == nil {
		if n := d.s.Running() + d.s.Waiting(); n > 0 {
			t.Fatalf("nothing scheduled though %d requests are there", n)
		}
		return nil
	}
	f := flight{batch: b, entries: slices.Clone(b.Entries)}
	total := 0
	for i, e := range f.entries {
		f.entries[i].Blocks = slices.Clone(e.Blocks)
		total += e.Tokens
		d.computed[e.ID] += e.Tokens
		if e.Admitted {
			d.saved[e.ID] += e.Start
		}
		if e.Tokens < 1 {
			t.Fatalf("entry of request %d has %d tokens", e.ID, e.Tokens)
		}
		if want := kv.BlocksFor(e.Start+e.Tokens, d.s.pool.BlockSize()); len(e.Blocks) != want {
			t.Fatalf("entry of request %d has %d blocks, want %d", e.ID, len(e.Blocks), want)
		}
	}
	if total != b.Tokens || total > d.s.cfg.MaxNumBatchedTokens || total == 0 {
		t.Fatalf("batch of %d tokens says %d, budget %d", total, b.Tokens, d.s.cfg.MaxNumBatchedTokens)
	}
	d.inFlight = append(d.inFlight, f)
	return b
}

// complete finishes the oldest batch in flight.
func (d *driver) complete(t tester) []Finished {
	t.Helper()
	f := d.inFlight[0]
	d.inFlight = d.inFlight[1:]
	results := make([]Result, 0, len(f.entries))
	for i, e := range f.entries {
		// The scheduler must not have touched what the executor reads.
		if got := f.batch.Entries[i]; !slices.Equal(got.Blocks, e.Blocks) || got.ID != e.ID {
			t.Fatalf("entry %d changed in flight: %v, was %v", i, got, e)
		}
		res := Result{ID: e.ID}
		if e.Sample {
			res.Tokens = 1
			d.sampled[e.ID]++
			if n := d.stopAfter[e.ID]; n > 0 && d.sampled[e.ID] >= n {
				res.Finish = Stop
			}
		}
		results = append(results, res)
	}
	done := slices.Clone(d.s.Complete(f.batch, results))
	d.finished = append(d.finished, done...)
	d.check(t)
	return done
}

// drain runs until nothing is left, and fails when that takes more than limit
// steps.
func (d *driver) drain(t tester, limit int) {
	t.Helper()
	for range limit {
		if d.step(t) == nil && d.s.Len() == 0 {
			if free, usable := d.s.pool.Free(), d.s.pool.Usable(); free != usable {
				t.Fatalf("%d of %d blocks are free at the end", free, usable)
			}
			return
		}
	}
	t.Fatalf("%d requests are left after %d steps", d.s.Len(), limit)
}

// chain returns hashes of a sequence of tokens: block i is identified by salt
// and all tokens up to its end. It reads tokens when asked, so the caller may
// append to them.
func chain(blockSize int, salt uint64, tokens *[]int) func(int) kv.Hash {
	return func(i int) kv.Hash {
		h := salt ^ 0xcbf29ce484222325
		for _, token := range (*tokens)[:(i+1)*blockSize] {
			h = (h ^ uint64(token)) * 0x100000001b3
			h ^= h >> 29
		}
		var out kv.Hash
		binary.LittleEndian.PutUint64(out[:], h)
		binary.LittleEndian.PutUint64(out[8:], uint64(i))
		return out
	}
}
