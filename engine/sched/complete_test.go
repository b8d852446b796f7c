package sched

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/kv"
)

// TestAbortEverywhere aborts a request at each point of its life. Afterwards
// nothing is left of it, a second abort finds nothing, and others are unharmed.
func TestAbortEverywhere(t *testing.T) {
	long := Request{ID: 1, Prompt: 40, MaxTokens: 5} // three chunks of 16
	for name, before := range map[string]func(t *testing.T, d *driver){
		"waiting, before any block exists": func(*testing.T, *driver) {},
		"first chunk in flight":            func(t *testing.T, d *driver) { d.schedule(t) },
		"between chunks":                   func(t *testing.T, d *driver) { d.schedule(t); d.complete(t) },
		"last chunk in flight": func(t *testing.T, d *driver) {
			for range 2 {
				d.schedule(t)
				d.complete(t)
			}
			d.schedule(t)
		},
		"decoding": func(t *testing.T, d *driver) {
			for range 4 {
				d.schedule(t)
				d.complete(t)
			}
		},
		"last token in flight": func(t *testing.T, d *driver) {
			for range 6 {
				d.schedule(t)
				d.complete(t)
			}
			d.schedule(t)
		},
		"two batches in flight": func(t *testing.T, d *driver) { d.schedule(t); d.schedule(t) },
		"last token in flight and the next batch too": func(t *testing.T, d *driver) {
			for range 6 {
				d.schedule(t)
				d.complete(t)
			}
			d.schedule(t)
			d.schedule(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, others := range []int{0, 2} {
				d := newDriver(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 20, MaxModelLen: 64, LongPrefillTokenThreshold: 16}, 40, 4, 1)
				d.add(t, long)
				for i := range others {
					d.add(t, Request{ID: ID(10 + i), Prompt: 2, MaxTokens: 12})
				}
				before(t, d)
				if !d.abort(t, 1) {
					t.Fatal("the request is not being served")
				}
				if d.abort(t, 1) || d.abort(t, 99) {
					t.Error("a second abort, or one of a stranger, found something")
				}
				if others == 0 {
					d.idle(t)
				}
				d.drain(t, 50)
				if _, ok := d.finished[1]; ok || len(d.finished) != others {
					t.Errorf("finished %v, want only the %d others", d.finished, others)
				}
			}
		})
	}
}

// TestAbortPreempted: a request that waits for its second start is aborted.
func TestAbortPreempted(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 8, MaxNumBatchedTokens: 64, MaxModelLen: 16}, 7, 1, 1)
	d.add(t, Request{ID: 1, Prompt: 2, MaxTokens: 5})
	d.add(t, Request{ID: 2, Prompt: 3, MaxTokens: 3})
	d.schedule(t)
	if b := d.schedule(t); len(b.Preempted) != 1 || !d.abort(t, 2) || d.s.Waiting() != 0 {
		t.Errorf("preempted %v, %d waiting", b.Preempted, d.s.Waiting())
	}
	d.drain(t, 20)
}

// TestAbortAfterFinish: a request that has ended by itself is not there any more,
// so that an engine which aborts on every closed connection does no harm, and
// can see that it was needless.
func TestAbortAfterFinish(t *testing.T) {
	d := newDriver(roomy(), 40, 4, 0)
	d.add(t, Request{ID: 1, Prompt: 4, MaxTokens: 1})
	d.step(t)
	if len(d.finished) != 1 || d.abort(t, 1) {
		t.Errorf("finished %v, and an abort found it", d.finished)
	}
	d.idle(t)
}

// TestIDCanBeUsedAgain while a batch in flight still mentions its former owner.
func TestIDCanBeUsedAgain(t *testing.T) {
	s := New(roomy(), kv.NewPool(40, 4))
	req := Request{ID: 1, Prompt: 4, MaxTokens: 2}
	for range 3 {
		if err := s.Add(&req); err != nil {
			t.Fatal(err)
		}
		b := s.Schedule(0)
		s.Abort(1)
		if err := s.Add(&req); err != nil {
			t.Fatal(err)
		}
		// The former owner's result must not count for the new one.
		if done := s.Complete(b, []Result{{ID: 1, Tokens: 1, Finish: Stop}}); len(done) != 0 || s.Waiting() != 1 {
			t.Fatalf("finished %v, %d waiting", done, s.Waiting())
		}
		s.Abort(1)
	}
	if s.pool.Free() != s.pool.Usable() || s.Len() != 0 {
		t.Errorf("%d blocks free, %d requests", s.pool.Free(), s.Len())
	}
}

// TestStopArrivesLate: with Schedule one step ahead, the batch after the one that
// stopped still has an entry; its result counts for nothing.
func TestStopArrivesLate(t *testing.T) {
	d := newDriver(roomy(), 40, 4, 1)
	d.stopAfter[1] = 2
	d.add(t, Request{ID: 1, Prompt: 4, MaxTokens: 9})
	for range 3 {
		d.step(t)
	}
	want := Finished{ID: 1, Reason: Stop, Output: 2, Admitted: d.finished[1].Admitted}
	if diff := cmp.Diff(want, d.finished[1]); diff != "" {
		t.Errorf("finished (-want +got):\n%s", diff)
	}
	if len(d.inFlight) != 1 || d.s.Len() != 0 {
		t.Fatalf("%d batches in flight, %d requests: the case shows nothing", len(d.inFlight), d.s.Len())
	}
	if done := d.complete(t); len(done) != 0 {
		t.Errorf("the late batch finished %v", done)
	}
	d.idle(t)
}

// TestLastTokenKnownAhead: a request that reaches its limit in the batch in
// flight has no entry in the next, and its place and blocks are used there.
func TestLastTokenKnownAhead(t *testing.T) {
	d := newDriver(Config{MaxNumSeqs: 1, MaxNumBatchedTokens: 64, MaxModelLen: 16}, 3, 4, 1)
	d.add(t, Request{ID: 1, Prompt: 7, MaxTokens: 1})
	d.add(t, Request{ID: 2, Prompt: 7, MaxTokens: 1})
	d.schedule(t)
	if diff := cmp.Diff([][3]int{{2, 0, 7}}, shape(d.schedule(t))); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}
	if st := d.s.Stats(); st.Running != 1 || d.s.Len() != 2 {
		t.Errorf("%d running and %d served, want 1 and 2", st.Running, d.s.Len())
	}
	d.drain(t, 5)
}

// TestFinishReasons: the executor's decision goes before the length limit, so
// that an end-of-sequence token in the last place is a stop; a missing token is
// an error.
func TestFinishReasons(t *testing.T) {
	for name, tc := range map[string]struct {
		maxTokens int
		results   []Result
		want      []Finished
	}{
		"goes on":              {2, []Result{{ID: 1, Tokens: 1}}, nil},
		"length":               {1, []Result{{ID: 1, Tokens: 1}}, []Finished{{ID: 1, Reason: Length, Output: 1}}},
		"stop":                 {2, []Result{{ID: 1, Tokens: 1, Finish: Stop}}, []Finished{{ID: 1, Reason: Stop, Output: 1}}},
		"stop at the limit":    {1, []Result{{ID: 1, Tokens: 1, Finish: Stop}}, []Finished{{ID: 1, Reason: Stop, Output: 1}}},
		"stop without a token": {2, []Result{{ID: 1, Finish: Stop}}, []Finished{{ID: 1, Reason: Stop}}},
		"no token":             {2, []Result{{ID: 1}}, []Finished{{ID: 1, Reason: Failed}}},
		"no result":            {2, nil, []Finished{{ID: 1, Reason: Failed}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := New(roomy(), kv.NewPool(40, 4))
			if err := s.Add(&Request{ID: 1, Prompt: 4, MaxTokens: tc.maxTokens}); err != nil {
				t.Fatal(err)
			}
			done := s.Complete(s.Schedule(0), tc.results)
			if diff := cmp.Diff(tc.want, append([]Finished(nil), done...)); diff != "" {
				t.Errorf("finished (-want +got):\n%s", diff)
			}
			if len(tc.want) > 0 && s.pool.Free() != s.pool.Usable() {
				t.Errorf("%d of %d blocks free", s.pool.Free(), s.pool.Usable())
			}
		})
	}
}

// TestMisusePanics: what would silently corrupt every later step.
func TestMisusePanics(t *testing.T) {
	for name, f := range map[string]func(s *Scheduler){
		"three batches in flight":      func(s *Scheduler) { s.Schedule(0); s.Schedule(0); s.Schedule(0) },
		"complete out of order":        func(s *Scheduler) { s.Schedule(0); s.Complete(s.Schedule(0), nil) },
		"complete twice":               func(s *Scheduler) { b := s.Schedule(0); s.Complete(b, nil); s.Complete(b, nil) },
		"result of a stranger":         func(s *Scheduler) { s.Complete(s.Schedule(0), []Result{{ID: 9, Tokens: 1}}) },
		"two tokens":                   func(s *Scheduler) { s.Complete(s.Schedule(0), []Result{{ID: 1, Tokens: 2}}) },
		"token of an unfinished chunk": func(s *Scheduler) { s.Complete(s.Schedule(0), []Result{{ID: 1, Tokens: 1}, {ID: 2, Tokens: 1}}) },
		"bad configuration":            func(*Scheduler) { New(Config{}, kv.NewPool(4, 4)) },
	} {
		t.Run(name, func(t *testing.T) {
			s := New(Config{MaxNumSeqs: 4, MaxNumBatchedTokens: 8, MaxModelLen: 64}, kv.NewPool(40, 4))
			for id := ID(1); id <= 2; id++ {
				if err := s.Add(&Request{ID: id, Prompt: 6, MaxTokens: 9}); err != nil {
					t.Fatal(err)
				}
			}
			defer func() {
				if recover() == nil {
					t.Error("did not panic")
				}
			}()
			f(s)
		})
	}
}
