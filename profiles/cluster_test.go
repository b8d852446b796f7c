package profiles

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const clusterScenario = `
workload: { arrival: { rate: 20/s }, classes: { interactive: 0.9, batch: 0.1 } }
also:
  - { class: nightly, arrival: { rate: 2/s }, input: 30k, output: 100 }
  - { tenant: abuser, arrival: { concurrency: 4 }, input: 8k }
serving:
  max_num_seqs: 256
  max_num_batched_tokens: 8k
  max_model_len: 16384
  block_size: 16
  gpu_memory_utilization: 0.9
  kv_cache_memory: 58GiB
  weight_dtype: fp8
  kv_dtype: fp8
  prefix_caching: on
  chunked_prefill: true
  long_prefill_token_threshold: 2k
  policy: priority
  priorities: { interactive: 0, batch: 10, nightly: 20 }
  cache_salt: tenant
  batching: continuous
  kv_layout: paged
  speculative: { tokens: 4, acceptance: 0.7, draft_cost: 0.1 }
  offload: { memory: 64GB, bandwidth: 50GB/s, latency_per_block: 20us }
cluster:
  pools:
    - { name: front, role: prefill, replicas: 2, accelerator: h100-sxm-80gb, engine: vllm@0.19, parallel: { tensor: 2 }, serving: { max_num_seqs: 8 }, slowdown: 1.5 }
    - { name: back, role: decode, replicas: 4 }
  router: { policy: prefix_affinity, load_cap: none }
  gateway:
    limits: { rpm: 600, input_tpm: 200k, output_tpm: 60k, concurrent: 50 }
    max_queue: 1000
    in_flight: 64
    timeout: 20s
    propagate_cancel: off
    retry: { attempts: 3, budget: 0.1, backoff: 100ms }
    fallback: { ttft: 800ms, tpot: 20ms, concurrent: 100, usd_per_1m_input: 0.15, usd_per_1m_output: 0.6, when_saturated: on }
  link: { bandwidth: 400Gbit/s, latency: 10us }
  autoscale: { metric: queue_depth, target: 4, min: 1, max: 8, interval: 15s, start_delay: 2m, scale_down: 5m }
  failures:
    - { kind: crash, replica: 0, at: 60s, for: 30s }
    - slow:replica=5,factor=3
    - { kind: outage, target: fallback, at: 2m }
`

func TestParseCluster(t *testing.T) {
	want := &Scenario{
		Workload: Workload{Name: "custom", Arrival: Arrival{Process: Poisson, RatePerS: 20}, Classes: map[string]float64{"interactive": 0.9, "batch": 0.1}},
		Also: []Workload{
			{Name: "custom", Arrival: Arrival{Process: Poisson, RatePerS: 2}, Input: Distribution{Kind: Fixed, Mean: 30_000}, Output: Distribution{Kind: Fixed, Mean: 100},
				Classes: map[string]float64{"nightly": 1}},
			{Name: "custom", Arrival: Arrival{Process: Closed, Concurrency: 4}, Input: Distribution{Kind: Fixed, Mean: 8000}, Tenant: "abuser"},
		},
		Serving: Serving{
			MaxNumSeqs: 256, MaxNumBatchedTokens: 8000, MaxModelLen: 16384, BlockSize: 16, GPUMemoryUtilization: 0.9, KVCacheMemory: 58 << 30,
			WeightDType: "fp8", KVDType: "fp8", PrefixCaching: "on", ChunkedPrefill: "on", LongPrefillTokenThreshold: 2000,
			Policy: "priority", Priorities: map[string]int{"interactive": 0, "batch": 10, "nightly": 20}, CacheSalt: "tenant",
			Batching: "continuous", KVLayout: "paged", Speculative: Speculative{Tokens: 4, Acceptance: 0.7, DraftCost: 0.1},
			Offload: Offload{MemoryBytes: 64e9, BandwidthPerS: 50e9, LatencyPerBlock: 20 * time.Microsecond},
		},
		Cluster: Cluster{
			Pools: []Pool{
				{Name: "front", Role: "prefill", Replicas: 2, Accelerator: "h100-sxm-80gb", Engine: "vllm@0.19", Parallel: Parallel{Tensor: 2}, Serving: Serving{MaxNumSeqs: 8}, Slowdown: 1.5},
				{Name: "back", Role: "decode", Replicas: 4},
			},
			Router: Router{Policy: "prefix_affinity", LoadCap: -1},
			Gateway: Gateway{
				Limits: Limits{RPM: 600, InputTPM: 200_000, OutputTPM: 60_000, Concurrent: 50}, MaxQueue: 1000, InFlight: 64, Timeout: 20 * time.Second, PropagateCancel: "off",
				Retry:    Retry{Attempts: 3, Budget: 0.1, Backoff: 100 * time.Millisecond},
				Fallback: Fallback{TTFT: 800 * time.Millisecond, TPOT: 20 * time.Millisecond, Concurrent: 100, USDPer1MIn: 0.15, USDPer1MOut: 0.6, WhenSaturated: true},
			},
			Link:      Link{BandwidthPerS: 50e9, Latency: 10 * time.Microsecond},
			Autoscale: Autoscale{Metric: "queue_depth", Target: 4, Min: 1, Max: 8, Interval: 15 * time.Second, StartDelay: 2 * time.Minute, ScaleDown: 5 * time.Minute},
			Failures: []Failure{
				{Kind: "crash", At: time.Minute, For: 30 * time.Second},
				{Kind: "slow", Replica: 5, Factor: 3},
				{Kind: "outage", Target: "fallback", At: 2 * time.Minute},
			},
		},
	}
	got, err := ParseScenario([]byte(clusterScenario))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

// TestEverySettingIsRead finds fields that no key reads: the scenario above says all.
func TestEverySettingIsRead(t *testing.T) {
	s, err := ParseScenario([]byte(clusterScenario))
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range []section{
		&s.Serving, &s.Serving.Speculative, &s.Serving.Offload, &s.Cluster.Router, &s.Cluster.Gateway, &s.Cluster.Gateway.Limits,
		&s.Cluster.Gateway.Retry, &s.Cluster.Gateway.Fallback, &s.Cluster.Link, &s.Cluster.Autoscale, &s.Cluster.Pools[0],
	} {
		for _, slot := range section.slots() {
			if !slot.said() {
				t.Errorf("%s of %s is not said", slot.name, section.form().what)
			}
		}
	}
}

func TestClusterJSON(t *testing.T) {
	for text, want := range map[string]string{
		"serving: { kv_cache_memory: 1GB, prefix_caching: on, offload: 'memory=2GB,latency_per_block=20us' }":  `{"serving":{"kv_cache_memory_bytes":1000000000,"offload":{"latency_per_block_s":0.00002,"memory_bytes":2000000000},"prefix_caching":"on"}}`,
		"serving: { policy: priority, priorities: { a: 0 } }":                                                  `{"serving":{"policy":"priority","priorities":{"a":0}}}`,
		"cluster: { replicas: 2, failures: ['crash:at=0s'] }":                                                  `{"cluster":{"failures":[{"at_s":0,"kind":"crash","replica":0}],"replicas":2}}`,
		"cluster: { pools: [{ replicas: 2, parallel: { tensor: 2 } }] }":                                       `{"cluster":{"pools":[{"parallel":{"tensor":2},"replicas":2}]}}`,
		"cluster: { gateway: { timeout: 2s, max_queue: 8, fallback: 'ttft=1s,tpot=10ms,when_saturated=on' } }": `{"cluster":{"gateway":{"fallback":{"tpot_s":0.01,"ttft_s":1,"when_saturated":true},"max_queue":8,"timeout_s":2}}}`,
		"also: [{ tenant: x, arrival: { concurrency: 1 } }]":                                                   `{"also":[{"name":"custom","arrival":{"process":"closed","concurrency":1},"tenant":"x"}]}`,
	} {
		s, err := ParseScenario([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(s)
		if diff := cmp.Diff(want, string(data)); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
}

func TestClusterErrors(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"unknown setting", "serving:\n  max_num_seq: 4\n", `line 2: unknown key "max_num_seq", did you mean "max_num_seqs"?`},
		{"far setting", "serving: { quux: 4 }\n", `unknown key "quux", expected one of max_num_seqs`},
		{"range", "serving:\n  block_size: 0\n", "line 2: block_size: 0 is outside 1 to 1048576"},
		{"no whole number", "serving: { block_size: 1.5 }\n", "1.5 is not a whole number"},
		{"word", "serving: { policy: priorities }\n", `unknown word "priorities", did you mean "priority"?`},
		{"memory", "serving: { kv_cache_memory: 3parsecs }\n", `parsing "3parsecs"`},
		{"bandwidth", "cluster: { link: { bandwidth: fast } }\n", "expected one like 50GB/s or 400Gbit/s"},
		{"time", "cluster: { link: { latency: 5 } }\n", "expected one like 500ms or 2s"},
		{"acceptance", "serving:\n  speculative: { tokens: 4, acceptance: 1.2 }\n", "line 2: acceptance: 1.2 is outside 0 to 1"},
		{"nothing proposed", "serving: { speculative: { acceptance: 0.5 } }\n", "speculative decoding needs tokens"},
		{"speculative in one word", "serving: { speculative: tokns=4 }\n", `did you mean "tokens"?`},
		{"static and speculative", "serving: { batching: static, speculative: { tokens: 2 } }\n", "static batching contradicts speculative"},
		{"offload without a cache", "serving: { prefix_caching: off, offload: { memory: 1GB } }\n", "prefix_caching: off never looks for"},
		{"offload without memory", "serving: { offload: { bandwidth: 1GB/s } }\n", "offload needs memory"},
		{"shared slabs", "serving: { kv_layout: contiguous, prefix_caching: on }\n", "slabs share nothing"},
		{"offloaded slabs", "serving: { kv_layout: contiguous, offload: 'memory=1GB' }\n", "slabs have no blocks to evict"},
		{"ranks without a policy", "serving: { priorities: { a: 1 } }\n", "say policy: priority"},
		{"rank", "serving: { policy: priority, priorities: { a: soon } }\n", `"soon" is no rank`},
		{"ranks", "serving: { priorities: [a] }\n", "expected classes and ranks, got a list"},
		{"rank twice", "serving: { priorities: { a: 1, a: 2 } }\n", `"a" is given twice`},
		{"class", "serving: { priorities: { 'a b': 1 } }\n", `class "a b" is not a name`},
		{"replicas beside pools", "cluster:\n  replicas: 2\n  pools: [{ replicas: 1 }]\n", "replicas 2 stand beside pools"},
		{"pools that are none", "cluster: { pools: { a: 1 } }\n", "expected a list, got a mapping"},
		{"prefill alone", "cluster: { pools: [{ role: prefill, replicas: 1 }] }\n", "needs a decode pool"},
		{"decode alone", "cluster: { pools: [{ role: decode, replicas: 1 }] }\n", "needs a prefill pool"},
		{"mixed roles", "cluster: { pools: [{ role: decode }, { role: prefill }, { replicas: 1 }] }\n", "say the role of each"},
		{"a name twice", "cluster: { pools: [{ name: a }, { name: a }] }\n", `"a" is the name of two`},
		{"pool name", "cluster: { pools: [{ name: a b }] }\n", `name "a b" is not one of letters`},
		{"pool's line", "cluster:\n  pools:\n    - { name: a }\n    - { nme: b }\n", `line 4: unknown key "nme", did you mean "name"?`},
		{"pool's degree", "cluster: { pools: [{ parallel: { tensor: -1 } }] }\n", "tensor parallel degree -1"},
		{"pool's setting", "cluster: { pools: [{ serving: { max_num_seqs: -1 } }] }\n", "max_num_seqs: -1 is outside"},
		{"a bound without a policy", "cluster: { router: { load_cap: 2 } }\n", "load_cap bounds prefix_affinity"},
		{"bound", "cluster: { router: { policy: prefix_affinity, load_cap: 0.5 } }\n", "0.5 is no factor of at least 1"},
		{"router", "cluster: { router: prefix_afinity }\n", `did you mean "prefix_affinity"?`},
		{"nothing shed", "cluster: { gateway: { fallback: { ttft: 1s, tpot: 1ms, when_saturated: on } } }\n", "when_saturated has no effect"},
		{"half a fallback", "cluster: { gateway: { fallback: { ttft: 1s } } }\n", "needs ttft and tpot"},
		{"switch", "cluster: { gateway: { in_flight: 1, fallback: { when_saturated: maybe } } }\n", `unknown word "maybe"`},
		{"half told", "cluster: { gateway: { propagate_cancel: later } }\n", `unknown word "later"`},
		{"nothing tried again", "cluster: { gateway: { retry: { backoff: 1s } } }\n", "say attempts of 2 or more"},
		{"nested in one word", "cluster: { gateway: retry=3 }\n", "retry: expected keys of its own"},
		{"link to nowhere", "cluster: { link: { latency: 1ms } }\n", "there are no pools"},
		{"min above max", "cluster: { autoscale: { metric: kv_usage, target: 0.7, min: 5, max: 4 } }\n", "min 5 is above max 4"},
		{"decides all the time", "cluster: { autoscale: { metric: kv_usage, target: 0.7, max: 4, interval: 1ms } }\n", "interval 1ms is too short, expected 100ms or more"},
		{"no metric", "cluster: { autoscale: { max: 4 } }\n", "autoscale needs a metric"},
		{"no most", "cluster: { autoscale: { metric: kv_usage, target: 0.7 } }\n", "autoscale needs max"},
		{"no target", "cluster: { autoscale: { metric: kv_usage, max: 4 } }\n", "autoscale needs the target of kv_usage"},
		{"target", "cluster: { autoscale: { metric: kv_usage, max: 4, target: 80 } }\n", "target 80 of kv_usage is a share"},
		{"begins outside", "cluster: { replicas: 9, autoscale: { metric: kv_usage, target: 0.7, max: 4 } }\n", "9 replicas to begin with are outside of min 1 to max 4"},
		{"failure", "cluster: { failures: [{ kind: crush }] }\n", `did you mean "crash"?`},
		{"failure without a kind", "cluster: { failures: [{ at: 1s }] }\n", "a failure needs a kind"},
		{"no such replica", "cluster: { replicas: 2, failures: [{ kind: crash, replica: 2 }] }\n", "replica 2 does not exist; there are 2, counted from 0"},
		{"no such replica of pools", "cluster: { pools: [{ replicas: 2 }, { replicas: 1 }], failures: [{ kind: crash, replica: 3 }] }\n", "replica 3 does not exist; there are 3"},
		{"slow by what", "cluster: { failures: [{ kind: slow }] }\n", "slow needs a factor"},
		{"factor of a crash", "cluster: { failures: [{ kind: crash, factor: 2 }] }\n", "factor is of slow"},
		{"target of a crash", "cluster: { failures: [{ kind: crash, target: fallback }] }\n", "target is of outage"},
		{"replica of an outage", "cluster: { failures: [{ kind: outage, replica: 1 }] }\n", "crash is of one replica"},
		{"outage of nothing", "cluster: { failures: [{ kind: outage, target: fallback }] }\n", "the gateway has none"},
		{"also", "also: { arrival: { rate: 1/s } }\n", "expected a list of workloads, got a mapping"},
		{"also without a load", "also:\n  - { class: a }\n", "line 2: arrival: a further workload needs its load"},
		{"also by name", "also: [chat]\n", "needs its load"},
		{"class and classes", "workload:\n  classes: { a: 1 }\n  class: b\n", "line 3: class: all sessions are of this class"},
		{"tenant and tenants", "workload:\n  tenants: 2\n  tenant: b\n", "line 3: tenant: all sessions are of this tenant"},
		{"tenant", "workload: { tenant: a b }\n", `tenant "a b" is not a name`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := ParseScenario([]byte(tc.text))
			if err == nil || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "line ") || strings.Contains(err.Error(), "\n") {
				t.Errorf("scenario %+v, error %v, want one line with %q", s, err, tc.want)
			}
		})
	}
}

// TestWholeScenario: what only shows once all is said.
func TestWholeScenario(t *testing.T) {
	for _, tc := range []struct{ name, text, want string }{
		{"fine", clusterScenario, ""},
		{"pool's own policy", "workload: { class: a }\nserving: { priorities: { a: 1 }, policy: priority }\ncluster: { pools: [{ serving: { policy: fcfs } }] }\n", ""},
		{"pool completed by the scenario", "workload: { class: a }\nserving: { policy: priority }\ncluster: { pools: [{ serving: { priorities: { a: 1 } } }] }\n", ""},
		{"pool against the scenario", "serving: { batching: static }\ncluster: { pools: [{ name: x, serving: { speculative: { tokens: 1 } } }] }\n", "cluster: pool x: static batching contradicts"},
		{"unknown class", "workload: { classes: { chat: 1 } }\nserving: { policy: priority, priorities: { chatt: 1 } }\n", `unknown class "chatt", did you mean "chat"?`},
		{"no class", "serving: { policy: priority, priorities: { a: 1 } }\n", "rank a class that no workload has"},
		{"a trace's classes", "workload: { trace: x.csv }\nserving: { policy: priority, priorities: { a: 1 } }\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, err := ParseScenario([]byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			err = s.Validate()
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}

func TestClusterOver(t *testing.T) {
	base := Scenario{
		Also:    []Workload{{Tenant: "x"}},
		Serving: Serving{MaxNumSeqs: 4, PrefixCaching: "on", Speculative: Speculative{Tokens: 2, Acceptance: 0.5}},
		Cluster: Cluster{Replicas: 3, Router: Router{Policy: "prefix_affinity", LoadCap: 2}},
	}
	if diff := cmp.Diff(base, Scenario{}.Over(base)); diff != "" {
		t.Error(diff)
	}
	top := Scenario{Serving: Serving{MaxNumSeqs: 8, Speculative: Speculative{Tokens: 1}}, Cluster: Cluster{Pools: []Pool{{Replicas: 1}}, Router: Router{Policy: "round_robin"}}}
	want := Scenario{
		Also: base.Also, Serving: Serving{MaxNumSeqs: 8, PrefixCaching: "on", Speculative: Speculative{Tokens: 1}},
		Cluster: Cluster{Pools: []Pool{{Replicas: 1}}, Router: Router{Policy: "round_robin"}},
	}
	if diff := cmp.Diff(want, top.Over(base)); diff != "" {
		t.Error(diff)
	}
	if got := (Scenario{Cluster: Cluster{Replicas: 2}}).Over(top); got.Cluster.Replicas != 2 || got.Cluster.Pools != nil {
		t.Errorf("%+v", got.Cluster)
	}
	pool := Pool{Accelerator: "l4-24gb", Parallel: Parallel{Tensor: 2}, Serving: Serving{MaxNumSeqs: 1}}
	of := Scenario{Accelerator: "a", Engine: "vllm", Parallel: Parallel{Pipeline: 2}, Serving: base.Serving}.Of(pool)
	if of.Accelerator != "l4-24gb" || of.Engine != "vllm" || of.Parallel != (Parallel{Tensor: 2, Pipeline: 2}) || of.Serving.MaxNumSeqs != 1 || of.Serving.PrefixCaching != "on" {
		t.Errorf("%+v", of)
	}
}

// TestSetKeepsTheRest: a flag changes what it says.
func TestSetKeepsTheRest(t *testing.T) {
	r := Router{Policy: "prefix_affinity", LoadCap: 2}
	if err := r.Set("round_robin"); err != nil || r != (Router{Policy: "round_robin", LoadCap: 2}) {
		t.Errorf("%+v, %v", r, err)
	}
	a := Autoscale{Metric: "queue_depth", Target: 4, Max: 8}
	if err := a.Set("utilization"); err == nil || !strings.Contains(err.Error(), "needs the target of utilization") {
		t.Errorf("the target of another metric stays: %+v, %v", a, err)
	}
	if err := a.Set("utilization:target=0.5,min=2"); err != nil || a != (Autoscale{Metric: "utilization", Target: 0.5, Min: 2, Max: 8}) {
		t.Errorf("%+v, %v", a, err)
	}
	if err := a.Set("off"); err != nil || a != (Autoscale{}) {
		t.Errorf("%+v, %v", a, err)
	}
	g := Gateway{InFlight: 4, Retry: Retry{Attempts: 2}}
	if err := g.Set("max_queue=9"); err != nil || g != (Gateway{InFlight: 4, MaxQueue: 9, Retry: Retry{Attempts: 2}}) {
		t.Errorf("%+v, %v", g, err)
	}
	var s Serving
	if err := s.Set("block_size", "32"); err != nil || s.BlockSize != 32 {
		t.Errorf("%+v, %v", s, err)
	}
	if err := s.Set("blocksize", "32"); err == nil || !strings.Contains(err.Error(), `did you mean "block_size"?`) {
		t.Error(err)
	}
}

func TestParsePools(t *testing.T) {
	for text, want := range map[string][]Pool{
		"prefill=2,decode=4":          {{Name: "prefill", Role: "prefill", Replicas: 2}, {Name: "decode", Role: "decode", Replicas: 4}},
		"h100-sxm-80gb=2,l40s-48gb=1": {{Name: "h100-sxm-80gb", Accelerator: "h100-sxm-80gb", Replicas: 2}, {Name: "l40s-48gb", Accelerator: "l40s-48gb", Replicas: 1}},
	} {
		pools, err := ParsePools(text)
		if diff := cmp.Diff(want, pools); err != nil || diff != "" {
			t.Errorf("%s: %v %s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"prefill=2":     "needs a decode pool",
		"h100=2":        `did you mean "h100-sxm-80gb"?`,
		"prefil=1":      `did you mean "prefill"?`,
		"l40s-48gb=0":   "l40s-48gb: 0 is outside 1 to",
		"l40s-48gb":     "expected name=value",
		"decode=x":      `parsing "x"`,
		"a100=1,a100=2": "did you mean",
	} {
		if _, err := ParsePools(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func TestLoadFurtherWorkloads(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"lengths.txt": "12\n", "s.yaml": "also:\n  - { arrival: { rate: 1/s }, input: { empirical: { file: lengths.txt } } }\n  - trace: x.csv\n",
		"bad.yaml": "also: [{ arrival: { rate: 1/s }, input: { empirical: { file: none.txt } } }]\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := LoadScenario(filepath.Join(dir, "s.yaml"))
	if err != nil || s.Also[0].Input.Average() != 12 || s.Also[1].Trace.File != filepath.Join(dir, "x.csv") {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := LoadScenario(filepath.Join(dir, "bad.yaml")); err == nil || !strings.Contains(err.Error(), "also: input: reading lengths") {
		t.Error(err)
	}
}

// TestLinks: every accelerator has a network and a host, none faster than any is.
func TestLinks(t *testing.T) {
	for name, want := range map[string][2]float64{
		"h100-sxm-80gb": {50e9, 63e9}, "a100-sxm-80gb": {50e9, 31.5e9}, "l40s-48gb": {32e9, 31.5e9}, "t4-16gb": {50e9, 15.75e9}, "gb200": {50e9, 450e9}, "gb10-128gb": {25e9, 31.5e9},
	} {
		a, err := LoadAccelerator(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]float64{a.Network(), a.HostBytesPerS()}; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// FuzzSectionTexts: what a flag reads is written as it is read.
func FuzzSectionTexts(f *testing.F) {
	for _, s := range []string{
		"tokens=4,acceptance=0.7", "memory=64GB,bandwidth=50GB/s", "rpm=600,concurrent=4", "attempts=3,budget=0.1,backoff=100ms",
		"ttft=1s,tpot=10ms,when_saturated=on", "bandwidth=400Gbit/s,latency=10us", "crash:replica=1,at=1m", "outage", "off", "queue_depth:target=4,max=8", "prefix_affinity:load_cap=none",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for what, parse := range map[string]func(string) (string, error){
			"speculative": func(s string) (string, error) { v, err := ParseSpeculative(s); return v.String(), err },
			"offload":     func(s string) (string, error) { v, err := ParseOffload(s); return v.String(), err },
			"limits":      func(s string) (string, error) { v, err := ParseLimits(s); return v.String(), err },
			"retry":       func(s string) (string, error) { v, err := ParseRetry(s); return v.String(), err },
			"fallback":    func(s string) (string, error) { v, err := ParseFallback(s); return v.String(), err },
			"link":        func(s string) (string, error) { v, err := ParseLink(s); return v.String(), err },
			"failure":     func(s string) (string, error) { v, err := ParseFailure(s); return v.String(), err },
			"router":      func(s string) (string, error) { var v Router; err := v.Set(s); return v.String(), err },
			"autoscale":   func(s string) (string, error) { var v Autoscale; err := v.Set(s); return v.String(), err },
		} {
			text, err := parse(s)
			if err != nil {
				continue
			}
			if again, err := parse(text); err != nil || again != text {
				t.Fatalf("%s %q is written as %q: %q, %v", what, s, text, again, err)
			}
		}
	})
}

func FuzzParsePriorities(f *testing.F) {
	f.Add("interactive=0,batch=10")
	f.Add("a=-1k")
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParsePriorities(s)
		if err == nil && len(m) == 0 {
			t.Fatalf("%q has no class", s)
		}
	})
}
