package reports

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/llmctl/llmctl/reports/stats"
)

// seeded are runs of one variant: times scaled, and jittered by the seed.
func seeded(name string, seeds int, scale float64) VariantRuns {
	v := VariantRuns{Name: name}
	for seed := range seeds {
		noise := 1 + 0.02*rand.New(rand.NewPCG(uint64(seed), uint64(len(name)))).Float64()
		number := func(x float64) *float64 { return &x }
		v.Runs = append(v.Runs, &Report{
			Kind:     "simulate",
			Requests: Requests{Scheduled: 1000, Sent: 1000, OK: 1000, FailedShare: number(0), MaxFailures: 0.01},
			Rates:    Rates{CompletedRPS: number(rounded(20 * noise)), OutputTokensPerS: number(rounded(5000 * noise))},
			Latencies: Latencies{
				TTFT: &stats.Dist{N: 1000, P50: rounded(0.2 * scale * noise), P99: rounded(0.9 * scale * noise)},
				TPOT: &stats.Dist{N: 1000, P50: rounded(0.02 * noise), P99: rounded(0.03 * noise)},
			},
			PrefixCache: &PrefixCache{HitRate: rounded(min(1, 0.3/scale))},
			Server:      &Server{Preemptions: number(0)},
		})
	}
	return v
}

func TestVariantsText(t *testing.T) {
	for _, tc := range []struct {
		name     string
		variants []VariantRuns
	}{
		{"variants_seeds", []VariantRuns{seeded("round_robin", 8, 1), seeded("least_loaded", 8, 0.8), seeded("prefix_affinity", 8, 0.5)}},
		{"variants_one", []VariantRuns{seeded("fcfs", 1, 1), seeded("priority", 1, 0.7)}},
		{"variants_many", []VariantRuns{seeded("8", 6, 1), seeded("16", 6, 0.9), seeded("32", 5, 0.8), seeded("64", 6, 0.7), seeded("128", 6, 0.6), seeded("256", 6, 0.5)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			if err := WriteVariants(&b, NewVariants("router", tc.variants), TextOptions{}); err != nil {
				t.Fatal(err)
			}
			golden(t, tc.name+".txt", b.String())
			for line := range strings.Lines(b.String()) {
				if ansi.StringWidth(strings.TrimRight(line, "\n")) > 80 {
					t.Errorf("wider than 80 columns: %s", line)
				}
			}
			for _, v := range tc.variants {
				if !strings.Contains(b.String(), v.Name) {
					t.Errorf("the text leaves out %s", v.Name)
				}
			}
		})
	}
}

// TestVariantsAreAsserted: what was asserted is told of every variant.
func TestVariantsAreAsserted(t *testing.T) {
	asserted := func(ok ...bool) (runs []*Report) {
		for _, held := range ok {
			v := 0.25
			runs = append(runs, &Report{Asserts: []AssertResult{{Text: "p99(ttft) < 200ms", Value: &v, OK: held}}})
		}
		return runs
	}
	text := func(all *Variants) string {
		var b strings.Builder
		if err := WriteVariants(&b, all, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	held := NewVariants("router", []VariantRuns{{"a", asserted(true, true)}, {"b", asserted(true, true)}})
	if got := held.Broken(); got != nil || !strings.Contains(text(held), "1 assertion held in every run") {
		t.Errorf("%q in\n%s", got, text(held))
	}
	broken := NewVariants("router", []VariantRuns{{"a", asserted(true, true)}, {"b", asserted(true, false)}})
	want := "router b: p99(ttft) < 200ms did not hold in 1 of 2 runs, 250 ms in the last of them"
	if got := broken.Broken(); len(got) != 1 || got[0] != want || !strings.Contains(text(broken), want) {
		t.Errorf("got %q, want %q, in\n%s", got, want, text(broken))
	}
}

func TestVariantsTell(t *testing.T) {
	all := NewVariants("policy", []VariantRuns{seeded("a", 6, 1), seeded("b", 6, 2), {Name: "c"}})
	find := func(key string) VariantMetric {
		for _, m := range all.Metrics {
			if m.Metric == key {
				return m
			}
		}
		t.Fatalf("no metric %s", key)
		return VariantMetric{}
	}
	ttft := find("ttft_p99_s").Values
	if ttft[0].Change != nil || ttft[0].P != nil {
		t.Errorf("the base is compared with itself: %+v", ttft[0])
	}
	if c := ttft[1].Change; c == nil || *c < 0.9 || *c > 1.1 || !*ttft[1].Significant {
		t.Errorf("times that doubled: %+v", ttft[1])
	}
	if got := fmt.Sprint(ttft[2]); ttft[2].N != 0 || ttft[2].Median != nil {
		t.Errorf("a variant without runs has %s", got)
	}
	if s := find("preemptions").Values[1]; *s.Significant || s.Change != nil {
		t.Errorf("no preemptions in either: %+v", s)
	}
	if *ttft[0].Confidence < 0.95 || *ttft[0].Low > *ttft[0].Median || *ttft[0].High < *ttft[0].Median {
		t.Errorf("interval of six seeds: %+v", ttft[0])
	}
}
