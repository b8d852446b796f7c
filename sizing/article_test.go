package sizing

import (
	"math"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/profiles"
	"github.com/llmctl/llmctl/sizing/cost"
)

// The figures of cases/articles.txt that are not numbers of one plan, and the
// derivations behind those that are.

// derived finds a line of the derivation.
func derived(t *testing.T, p *Plan, name string) Derivation {
	t.Helper()
	for _, d := range p.Derivation {
		if d.Name == name {
			return d
		}
	}
	t.Fatalf("the plan does not derive %s", name)
	return Derivation{}
}

// TestDerivationsOfTheArticle compares lines that one would say in an interview
// with the worked example: the numbers that are put in, and what they give.
func TestDerivationsOfTheArticle(t *testing.T) {
	p := mustCompute(t, scenario(func(r *Request) {
		r.MaxModelLen, r.Scenario.Workload.Arrival, r.Scenario.Price.USDPerAcceleratorHour = 4096, rps(10), 2.50
	}))
	for _, tc := range []struct {
		name    string
		numbers []string // as they are put in
		value   float64
		within  float64
		source  string
	}{
		{"KV cache per token", []string{"32 × 8 × (128 + 128) × 2 B"}, 131_072, 0, "num_key_value_heads"},
		{"KV cache of the longest request", []string{"32 × 4,096 B", "4,096"}, 512 << 20, 0, "max_model_len"},
		{"weights per accelerator", []string{"÷ 1"}, 16e9, 0.01, "2 B per linear weight"},
		{"KV pool per accelerator", []string{"79.19 GiB × 0.9"}, 57.5e9, 0.05, ""},
		{"longest requests at once", []string{"÷ 256"}, 115, 0.07, ""},
		{"cost per hour", []string{"1 × $2.50"}, 2.50, 0, "given"},
	} {
		d := derived(t, p, tc.name)
		for _, number := range tc.numbers {
			if !strings.Contains(d.Substituted, number) {
				t.Errorf("%s puts in %s, not %s", d.Name, d.Substituted, number)
			}
		}
		if math.Abs(d.Value/tc.value-1) > tc.within {
			t.Errorf("%s is %v, want %v", d.Name, d.Value, tc.value)
		}
		if !strings.Contains(d.Source, tc.source) {
			t.Errorf("%s comes from %q", d.Name, d.Source)
		}
	}
	// E2E = TTFT + TPOT × (output tokens − 1), but for short outputs, which have a
	// higher TPOT and count less in the sum.
	q := p.Performance
	if want := q.TTFT.Mean + q.TPOT.Mean*(p.Inputs.OutputTokens-1); math.Abs(q.E2E.Mean/want-1) > 0.01 {
		t.Errorf("E2E %v, want %v", q.E2E.Mean, want)
	}
}

// soleReplica is a replica of the 8B, whose steps the articles speak of.
func soleReplica(t *testing.T, change func(*Request)) replica {
	t.Helper()
	s, err := resolve(scenario(change))
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.newLayout()
	if err != nil {
		t.Fatal(err)
	}
	m := s.plannedMemory(l)
	m.fill(s, l)
	return s.newReplica(m, s.warmMix(m, l))
}

func stepOf(r replica, b cost.Batch) cost.Step {
	return cost.StepTime(r.facts, r.device, r.constants, b)
}

// TestOneSequenceTopsOut: bandwidth ÷ weights is a few hundred tokens a second,
// and no forecast comes near it.
func TestOneSequenceTopsOut(t *testing.T) {
	one := stepOf(soleReplica(t, nil), cost.Batch{Decode: []cost.Decode{{Sequences: 1, Context: 1}}})
	ceiling := 1 / one.Limit
	if ceiling < 200 || ceiling > 240 {
		t.Errorf("at most %v tokens/s, 3,350 GB/s ÷ 16 GB (less the embeddings) are 209 to 223", ceiling)
	}
	if got := 1 / one.Seconds; got > 0.9*ceiling {
		t.Errorf("the forecast of %v tokens/s is the roofline", got)
	}
}

// TestWeightsAreReadOnce: 64 sequences in a step move the bytes of one, beside
// their caches, and make 64 tokens.
func TestWeightsAreReadOnce(t *testing.T) {
	r := soleReplica(t, nil)
	one := stepOf(r, cost.Batch{Decode: []cost.Decode{{Sequences: 1}}})
	many := stepOf(r, cost.Batch{Decode: []cost.Decode{{Sequences: 64}}})
	if many.Bytes != one.Bytes || many.Tokens != 64 {
		t.Errorf("64 sequences move %v B, one %v", many.Bytes, one.Bytes)
	}
	if gain := 64 * one.Seconds / many.Seconds; gain < 30 {
		t.Errorf("64 sequences make %v times the tokens", gain)
	}
}

// TestPrefillIsComputeBound: 2,000 tokens are 2 operations per parameter and
// token, and compute is most of the step; a long prompt stalls others for
// hundreds of milliseconds unless it is cut into chunks.
func TestPrefillIsComputeBound(t *testing.T) {
	r := soleReplica(t, nil)
	step := stepOf(r, cost.Batch{Prefill: []cost.Prefill{{Tokens: 2000, Final: true}}})
	products := step.Operations - step.Attention
	if want := 2 * 8.03e9 * 2000; math.Abs(products/want-1) > 0.14 { // neither embedding nor head is multiplied for each token
		t.Errorf("%v operations, want about %v", products, want)
	}
	if step.Bound() != "compute" {
		t.Errorf("prefill is bound by %s", step.Bound())
	}
	if decode := stepOf(r, cost.Batch{Decode: []cost.Decode{{Sequences: 1, Context: 2000}}}); decode.Bound() != "memory bandwidth" {
		t.Errorf("decode is bound by %s", decode.Bound())
	}
	whole := stepOf(r, cost.Batch{Prefill: []cost.Prefill{{Tokens: 30_000, Final: true}}}).Seconds
	chunk := stepOf(r, cost.Batch{Prefill: []cost.Prefill{{Tokens: 2048}}}).Seconds
	if whole < 0.2 || chunk > whole/5 {
		t.Errorf("30,000 tokens take %v s at once, a chunk of 2,048 %v s", whole, chunk)
	}
}

// TestLongAnswers: 600 tokens at 30 ms add 18 s.
func TestLongAnswers(t *testing.T) {
	s := state{step: 0.030, rate: 1, batch: (600 - 1) * 0.030}
	got := s.e2e() - s.ttft()
	if math.Abs(got-18) > 0.05 {
		t.Errorf("600 tokens at 30 ms take %v s", got)
	}
}

// TestBatchingHurtsTheTail: more load, more tokens a second, slower requests.
func TestBatchingHurtsTheTail(t *testing.T) {
	at := func(rate float64) *Performance {
		return mustCompute(t, scenario(func(r *Request) { r.Scenario.Workload.Arrival = rps(rate) })).Performance
	}
	few, many := at(1), at(7)
	if many.OutputTokensPS < 6.5*few.OutputTokensPS || many.TPOT.P99 <= few.TPOT.P99 || many.Batch <= few.Batch {
		t.Errorf("at 1/s %+v, at 7/s %+v", few, many)
	}
}

// TestSharedPromptsServeMore is the gateway article's load test: the same
// prompts with and without a shared system prompt.
func TestSharedPromptsServeMore(t *testing.T) {
	with := func(p profiles.Prefix) *Performance {
		return mustCompute(t, scenario(func(r *Request) {
			r.Scenario.Workload = profiles.Workload{Input: fixed(2048), Output: fixed(128), Prefix: p}
		})).Performance
	}
	shared, none := with(profiles.Prefix{Groups: 1, Tokens: 1536}), with(profiles.Prefix{None: true})
	if shared.MaxRPS < 1.5*none.MaxRPS {
		t.Errorf("%v requests/s with a shared prompt, %v without", shared.MaxRPS, none.MaxRPS)
	}
}

// TestTenthOfTheLoad: what a replica costs does not depend on its load, what a
// token costs does.
func TestTenthOfTheLoad(t *testing.T) {
	at := func(rate float64) *Fleet {
		return mustCompute(t, scenario(func(r *Request) { r.Scenario.Workload.Arrival = rps(rate) })).Fleet
	}
	full, tenth := at(7), at(0.7)
	if full.Replicas != 1 || math.Abs(tenth.USDPer1MOut/full.USDPer1MOut-10) > 1e-6 {
		t.Errorf("$%v per 1M at a tenth of the load, $%v at all of it", tenth.USDPer1MOut, full.USDPer1MOut)
	}
}
