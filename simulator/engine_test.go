package simulator

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmctl/llmctl/engine/sched"
	"github.com/llmctl/llmctl/loadgen/workload"
	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/reports/record"
	"github.com/llmctl/llmctl/sizing/cost"
)

// plainKind is an engine whose steps are easy to foresee: 10 ms each, however much
// is in it, with a pool of 4,096 blocks of 16 tokens.
func plainKind() Kind {
	return Kind{
		Facts:     cost.Facts{Layers: 1, Tensor: 1, Pipeline: 1, Data: 1, KV: []cost.KVKind{{BytesPerToken: 1}}},
		Device:    &profiles.Accelerator{BandwidthBytesPerS: 1e18, BF16FlopsPerS: 1e21},
		Constants: cost.Constants{StepS: 0.01},
		Sched:     sched.Config{MaxNumSeqs: 32, MaxNumBatchedTokens: 2048, MaxModelLen: 4096, DisablePrefixCache: true, ReserveFullPrompt: true},
		Blocks:    4096, BlockSize: 16, KVBytesPerToken: 1, Accelerators: 1,
	}
}

// solo is a run with one replica to which a test gives requests by hand.
type solo struct {
	*sim
	replica *replica
	records []record.Record
}

func newSolo(t testing.TB, k Kind) *solo {
	t.Helper()
	if err := k.check(); err != nil {
		t.Fatal(err)
	}
	stream, err := workload.New(profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Constant, RatePerS: 1},
		Input:   profiles.Distribution{Kind: profiles.Fixed, Mean: 1}, Output: profiles.Distribution{Kind: profiles.Fixed, Mean: 1},
	}, workload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o := &solo{}
	c := Config{Pools: []Pool{{Replicas: 1, Kind: k}}, Streams: []*workload.Stream{stream}, Duration: time.Hour, Drain: time.Hour, Seed: 3}
	o.sim = newSim(c, func(record.Window) {}, func(r *record.Record) {
		kept := *r
		if chunks, ok := r.Chunks.(*record.StepChunks); ok {
			clone := *chunks
			kept.Chunks = &clone
		}
		o.records = append(o.records, kept)
	})
	o.agenda = agenda{} // of the stream's own requests nothing is to be seen
	o.replica = o.front.replicas[0]
	return o
}

// ask sends a request straight to the replica. Those of the same group begin alike,
// over the first shared tokens.
func (o *solo) ask(prompt, output, group, shared int) *request {
	session := &workload.Session{Index: o.ids, Turns: []workload.Turn{{Input: prompt, Output: output, Group: group, Prefix: shared}}}
	r := &request{id: o.ids, session: session, prompt: prompt, output: output, cached: -1, sent: o.now, replica: o.replica, held: true}
	o.ids++
	o.open++
	o.flying[r.id] = r
	o.replica.load++
	o.replica.submit(r)
	return r
}

// until runs events up to a time.
func (o *solo) until(end time.Duration) {
	for len(o.agenda.heap) > 0 && o.agenda.heap[0].at <= end {
		e, _ := o.agenda.next()
		o.now = e.at
		e.do.happen(o.sim)
	}
	o.now = end
}

// TestGoldenWaveInReplica is the schedule that the differential test of vllm.cpp
// (tests/fixtures/scheduler_wave) recorded from vLLM 0.25's own Scheduler, as the
// replica runs it.
func TestGoldenWaveInReplica(t *testing.T) {
	for name, tc := range map[string]struct {
		seqs int
		want []int
	}{
		"32 sequences": {32, []int{1024, 994}},
		"8 sequences":  {8, []int{1024, 1018}},
	} {
		t.Run(name, func(t *testing.T) {
			k := plainKind()
			k.Sched.MaxNumSeqs = tc.seqs
			o := newSolo(t, k)
			for i := range tc.seqs {
				output := 100
				if i == 3 || i == 5 {
					output = 5
				}
				o.ask(16, output, workload.NoGroup, 0)
			}
			for range 2 {
				o.ask(1024, 10, workload.NoGroup, 0)
			}
			decodes, prompts, tokens := 0, []int(nil), 0
			for len(prompts) == 0 && o.now < time.Second {
				o.until(o.now + 10*time.Millisecond)
				decodes, tokens = 0, o.replica.batch.Tokens
				for _, e := range o.replica.batch.Entries {
					if e.Tokens == 1 {
						decodes++
					} else if e.Tokens > 16 {
						prompts = append(prompts, e.Tokens)
					}
				}
			}
			if diff := cmp.Diff(tc.want, prompts); diff != "" {
				t.Errorf("prompt chunks (-want +got):\n%s", diff)
			}
			if decodes != tc.seqs-2 || tokens != 2048 {
				t.Errorf("%d decodes and %d tokens, want %d and 2048", decodes, tokens, tc.seqs-2)
			}
		})
	}
}

func TestKindThatCanNotServe(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(k *Kind)
		want   string
	}{
		"slab larger than the pool": {func(k *Kind) { k.Serving.KVLayout, k.Blocks = "contiguous", 255 }, "4080 tokens holds no slab of max_model_len, 4096 tokens"},
		"slab as large":             {func(k *Kind) { k.Serving.KVLayout, k.Blocks = "contiguous", 256 }, ""},
		"no blocks":                 {func(k *Kind) { k.Blocks = 0 }, "holds nothing"},
		"static prefill":            {func(k *Kind) { k.Serving.Batching, k.Role = "static", prefill }, "static in a prefill pool"},
		"scheduler":                 {func(k *Kind) { k.Sched.MaxNumSeqs = 0 }, "max_num_seqs 0"},
	} {
		t.Run(name, func(t *testing.T) {
			k := plainKind()
			tc.change(&k)
			err := k.check()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

// TestEveryWayOfServingEndsEverything: whatever is combined, requests get what they
// asked for, and a second run gives the same.
func TestEveryWayOfServingEndsEverything(t *testing.T) {
	for _, batching := range []string{"continuous", "static"} {
		for _, layout := range []string{"paged", "contiguous"} {
			for _, stages := range []int{1, 3} {
				for _, drafts := range []int{0, 3} {
					for _, host := range []int64{0, 1 << 20} {
						k := plainKind()
						k.Facts.Pipeline = stages
						k.Blocks, k.Sched.MaxModelLen, k.Sched.DisablePrefixCache = 90, 400, false
						k.Serving = profiles.Serving{
							Batching: batching, KVLayout: layout, Speculative: profiles.Speculative{Tokens: drafts, Acceptance: 0.6, DraftCost: 0.1},
							Offload: profiles.Offload{MemoryBytes: host, BandwidthPerS: 1e5, LatencyPerBlock: time.Millisecond},
						}
						first, second := simulateKind(t, k), simulateKind(t, k)
						if diff := cmp.Diff(first, second); diff != "" {
							t.Fatalf("%+v (-first +second):\n%s", k.Serving, diff)
						}
						if len(first) != 200 {
							t.Fatalf("%+v: %d requests ended, want 200", k.Serving, len(first))
						}
					}
				}
			}
		}
	}
}

// answer is what a request got, and when.
type answer struct {
	ID          int64
	First, Last record.Moment
	Output      int
}

func simulateKind(t *testing.T, k Kind) (all []answer) {
	t.Helper()
	stream, err := workload.New(profiles.Workload{
		Arrival: profiles.Arrival{Process: profiles.Poisson, RatePerS: 30},
		Input:   profiles.Distribution{Kind: profiles.Uniform, Min: 20, Max: 200}, Output: profiles.Distribution{Kind: profiles.Uniform, Min: 1, Max: 50},
		Prefix: profiles.Prefix{Groups: 4, Tokens: 64},
	}, workload.Options{Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(context.Background(), Config{
		Pools: []Pool{{Replicas: 1, Kind: k}}, Streams: []*workload.Stream{stream}, Requests: 200, Drain: time.Hour, Seed: 9,
	}, func(record.Window) {}, func(r *record.Record) {
		asked, _ := r.AskedOutput.Value()
		got, _ := r.Output.Value()
		sum := 0
		for _, n := range r.Chunks.All() {
			tokens, _ := n.Value()
			sum += tokens
		}
		if r.Outcome != record.OK || got != asked || sum != asked {
			t.Fatalf("%+v: request %d ended as %s with %d tokens, %d in chunks, of %d", k.Serving, r.ID, r.Outcome, got, sum, asked)
		}
		all = append(all, answer{r.ID, r.First, r.Last, got})
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
