package simulator

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

const step = 10 * time.Millisecond // of plainKind

// tokensPerStep are the tokens of each output event.
func tokensPerStep(r *record.Record) (all []int) {
	for _, n := range r.Chunks.All() {
		tokens, _ := n.Value()
		all = append(all, tokens)
	}
	return all
}

func (o *solo) recordOf(t *testing.T, r *request) *record.Record {
	t.Helper()
	for i := range o.records {
		if o.records[i].ID == r.id {
			return &o.records[i]
		}
	}
	t.Fatalf("request %d has no record by %v", r.id, o.now)
	return nil
}

func ended(t *testing.T, r *record.Record) time.Duration {
	t.Helper()
	at, ok := r.Last.Since()
	if !ok {
		t.Fatalf("request %d has no last token", r.ID)
	}
	return at
}

// TestSpeculationSavesSteps: with k drafts that are right with chance a while all
// before them are, a step gives (1 − a^(k+1)) ÷ (1 − a) tokens on average (Leviathan
// et al. 2023, equation 1).
func TestSpeculationSavesSteps(t *testing.T) {
	k := plainKind()
	k.Serving.Speculative = profiles.Speculative{Tokens: 3, Acceptance: 0.7}
	o := newSolo(t, k)
	r := o.ask(100, 3000, workload.NoGroup, 0)
	o.until(time.Minute)
	rec := o.recordOf(t, r)
	tokens := tokensPerStep(rec)
	sum := 0
	for i, n := range tokens {
		if n < 1 || n > 4 || i == 0 && n != 1 {
			t.Fatalf("step %d gave %d tokens, want 1 to 4, the first 1", i, n)
		}
		sum += n
	}
	if sum != 3000 {
		t.Fatalf("%d tokens, want 3000", sum)
	}
	want := (1 - math.Pow(0.7, 4)) / (1 - 0.7)
	if mean := float64(sum) / float64(len(tokens)); math.Abs(mean-want) > 0.05*want {
		t.Errorf("%.2f tokens per step, want %.2f", mean, want)
	}
	if got := ended(t, rec); got != time.Duration(len(tokens))*step {
		t.Errorf("ended at %v after %d steps of %v", got, len(tokens), step)
	}
}

// TestSpeculationIsTheRequestsOwn: what is accepted does not depend on who else is
// there.
func TestSpeculationIsTheRequestsOwn(t *testing.T) {
	k := plainKind()
	k.Serving.Speculative = profiles.Speculative{Tokens: 2, Acceptance: 0.5}
	alone, among := newSolo(t, k), newSolo(t, k)
	a := alone.ask(10, 60, workload.NoGroup, 0)
	b := among.ask(10, 60, workload.NoGroup, 0)
	for range 10 {
		among.ask(30, 40, workload.NoGroup, 0)
	}
	alone.until(time.Minute)
	among.until(time.Minute)
	if diff := cmp.Diff(tokensPerStep(alone.recordOf(t, a)), tokensPerStep(among.recordOf(t, b))); diff != "" {
		t.Errorf("tokens per step (-alone +among others):\n%s", diff)
	}
}

// TestDraftsTakeTime: k drafts of a cost c lengthen a step by c·k times.
func TestDraftsTakeTime(t *testing.T) {
	k := plainKind()
	k.Serving.Speculative = profiles.Speculative{Tokens: 4, Acceptance: 0, DraftCost: 0.25}
	o := newSolo(t, k)
	r := o.ask(10, 10, workload.NoGroup, 0)
	o.until(time.Minute)
	if got := ended(t, o.recordOf(t, r)); got != 10*2*step {
		t.Errorf("10 tokens took %v, want %v", got, 10*2*step)
	}
}

// TestSpeculationFades: verifying is free while a step is bound by memory, and not
// when many sequences make it bound by compute.
func TestSpeculationFades(t *testing.T) {
	k := plainKind()
	k.Facts = cost.Facts{Layers: 1, Tensor: 1, Data: 1, SharedBytes: 1e10, LayerParameters: 5e9, KV: []cost.KVKind{{BytesPerToken: 1}}}
	k.Device = &profiles.Accelerator{BandwidthBytesPerS: 1e12, BF16FlopsPerS: 2e13}
	k.Constants = cost.Constants{MemoryFactor: 1, ComputeFactor: 1}
	took := func(requests, drafts int) time.Duration {
		k := k
		k.Serving.Speculative = profiles.Speculative{Tokens: drafts, Acceptance: 0.7}
		o := newSolo(t, k)
		for range requests {
			o.ask(10, 200, workload.NoGroup, 0)
		}
		o.until(time.Hour)
		return ended(t, &o.records[len(o.records)-1])
	}
	if few, many := float64(took(1, 0))/float64(took(1, 3)), float64(took(32, 0))/float64(took(32, 3)); few < 2 || many > 1 {
		t.Errorf("speed-up of %.2f with 1 request and %.2f with 32, want above 2 and below 1", few, many)
	}
}

// TestPipelineOverlaps: one request has a batch in one stage at a time, so that two
// of three stages stand idle; three requests fill all.
func TestPipelineOverlaps(t *testing.T) {
	k := plainKind()
	k.Facts.Pipeline = 3
	for name, tc := range map[string]struct {
		requests int
		want     time.Duration // of the last
	}{
		"one":   {1, 10 * step},
		"three": {3, 10*step + 2*step/3},
		// Two of the four share a batch.
		"four": {4, 10*step + 2*step/3},
	} {
		t.Run(name, func(t *testing.T) {
			o := newSolo(t, k)
			for range tc.requests {
				o.ask(10, 10, workload.NoGroup, 0)
			}
			o.until(time.Minute)
			if len(o.records) != tc.requests {
				t.Fatalf("%d requests ended, want %d", len(o.records), tc.requests)
			}
			if got := ended(t, &o.records[tc.requests-1]); got < tc.want-time.Microsecond || got > tc.want+step {
				t.Errorf("the last ended at %v, want %v, or a step later", got, tc.want)
			}
		})
	}
}

// TestPipelineSharesOnePool: the pool of a replica is that of all its stages; it is
// not divided among them once more, nor among the batches in flight.
func TestPipelineSharesOnePool(t *testing.T) {
	k := plainKind()
	k.Facts.Pipeline, k.Blocks = 4, 40
	o := newSolo(t, k)
	o.ask(39*16, 10, workload.NoGroup, 0)
	o.until(time.Minute)
	if n := o.replica.sched.Stats().Preemptions; len(o.records) != 1 || n != 0 || o.records[0].Outcome != record.OK {
		t.Errorf("a request as large as the pool: %d ended, %d preemptions", len(o.records), n)
	}
}

// TestStaticBatchWaitsForItsLongest: seven short answers and a long one come out
// together, and who arrives meanwhile waits for all.
func TestStaticBatchWaitsForItsLongest(t *testing.T) {
	for name, tc := range map[string]struct {
		batching           string
		short, long, later time.Duration // ends
	}{
		"static":     {"static", 100 * step, 100 * step, 110 * step},
		"continuous": {"continuous", 10 * step, 100 * step, 16 * step},
	} {
		t.Run(name, func(t *testing.T) {
			k := plainKind()
			k.Serving.Batching = tc.batching
			o := newSolo(t, k)
			var rows []*request
			for range 7 {
				rows = append(rows, o.ask(10, 10, workload.NoGroup, 0))
			}
			long := o.ask(10, 100, workload.NoGroup, 0)
			o.until(5 * step)
			later := o.ask(10, 10, workload.NoGroup, 0)
			o.until(time.Minute)
			got := []time.Duration{ended(t, o.recordOf(t, rows[0])), ended(t, o.recordOf(t, long)), ended(t, o.recordOf(t, later))}
			if diff := cmp.Diff([]time.Duration{tc.short, tc.long, tc.later}, got); diff != "" {
				t.Errorf("ends of short, long and later (-want +got):\n%s", diff)
			}
			first, _ := o.recordOf(t, rows[0]).First.Since()
			if want := tc.short; tc.batching == "static" && first != want {
				t.Errorf("first token at %v, want it with the last at %v", first, want)
			}
		})
	}
}

// TestStaticRowsArePadded: rows that have ended cost what the others do.
func TestStaticRowsArePadded(t *testing.T) {
	k := plainKind()
	k.Serving.Batching = "static"
	k.Constants.SequenceS = 0.001
	o := newSolo(t, k)
	for range 9 {
		o.ask(10, 2, workload.NoGroup, 0)
	}
	long := o.ask(10, 20, workload.NoGroup, 0)
	gone := o.ask(10, 20, workload.NoGroup, 0)
	o.until(50 * time.Millisecond)
	o.cancel(gone)
	o.until(time.Minute)
	want := 20 * (step + 11*time.Millisecond)
	if got := ended(t, o.recordOf(t, long)); got != want {
		t.Errorf("ended at %v, want %v", got, want)
	}
	if rec := o.recordOf(t, gone); rec.Outcome != record.Cancelled || len(o.records) != 11 {
		t.Errorf("%s, %d records", rec.Outcome, len(o.records))
	}
}

// TestSlabsHoldFewer: a slab is as long as the longest request may be.
func TestSlabsHoldFewer(t *testing.T) {
	for layout, want := range map[string]int{"paged": 20, "contiguous": 4} {
		k := plainKind()
		k.Serving.KVLayout, k.Blocks = layout, 4*4096/16+100
		o := newSolo(t, k)
		for range 20 {
			o.ask(100, 100, workload.NoGroup, 0)
		}
		o.until(10 * step)
		if got := o.replica.sched.Running(); got != want {
			t.Errorf("%s: %d run, want %d", layout, got, want)
		}
		o.until(time.Minute)
		if len(o.records) != 20 {
			t.Errorf("%s: %d ended", layout, len(o.records))
		}
	}
}

// TestOffloadBringsBack: a prompt whose blocks were evicted is loaded from the host;
// another request overtakes it meanwhile, and the load takes its time.
func TestOffloadBringsBack(t *testing.T) {
	k := plainKind()
	k.Sched.DisablePrefixCache = false
	k.Blocks = 40
	k.Serving.Offload = profiles.Offload{MemoryBytes: 1000 * 16, BandwidthPerS: 1e4, LatencyPerBlock: time.Millisecond}
	o := newSolo(t, k)
	o.ask(320, 2, 7, 320)
	o.until(10 * step)
	o.ask(630, 2, workload.NoGroup, 0) // pushes the first one's blocks out
	o.until(20 * step)
	again := o.ask(320, 2, 7, 320)
	other := o.ask(20, 2, workload.NoGroup, 0)
	start := o.now
	o.until(time.Minute)
	// 19 of its 20 blocks: the last token is computed.
	load := seconds(19*16/1e4) + 19*time.Millisecond
	rec := o.recordOf(t, again)
	if cached, _ := rec.Cached.Value(); cached != 19*16 {
		t.Errorf("%d tokens cached, want %d", cached, 19*16)
	}
	if got := ended(t, rec) - start; got < load+2*step || got > load+4*step {
		t.Errorf("took %v, want %v for the load, and two to four steps", got, load)
	}
	if ended(t, o.recordOf(t, other)) >= start+load {
		t.Errorf("the other one waited for the load, and ended at %v", ended(t, o.recordOf(t, other)))
	}
	if st := o.replica.sched.Stats(); st.ExternalHits != 19*16 {
		t.Errorf("%d tokens hit outside, want %d", st.ExternalHits, 19*16)
	}
}
