package usage

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/llmctl/llmctl/internal/optional"
	"pgregory.net/rapid"
)

func usd(v float64) *float64 { return &v }

func TestCost(t *testing.T) {
	for _, test := range []struct {
		name                  string
		input, cached, output *float64
		tokens                Tokens
		wantInput, wantOutput Amount
	}{
		{"input and output", usd(0.4), nil, usd(0.6), Tokens{Input: 1000, Output: 100}, Known(400_000), Known(60_000)},
		{"cached input is cheaper", usd(0.4), usd(0.1), usd(0.6), Tokens{Input: 1000, Cached: optional.Counted(600)}, Known(400*400 + 600*100), Known(0)},
		{"cached input without a price of its own", usd(0.4), nil, nil, Tokens{Input: 1000, Cached: optional.Counted(600)}, Known(400_000), Known(0)},
		{"unknown is not free", usd(0.4), nil, nil, Tokens{Input: 10, Output: 1}, Known(4000), Amount{}},
		{"unknown, but nothing was used", nil, nil, nil, Tokens{}, Known(0), Known(0)},
		{"free", usd(0), nil, usd(0), Tokens{Input: 10, Output: 1}, Known(0), Known(0)},
		{"less than a nano-dollar a token", usd(0.0001), nil, usd(0.0004), Tokens{Input: 10, Output: 1}, Known(1), Known(0)},
		{"half a nano-dollar is rounded up", usd(0.0005), nil, nil, Tokens{Input: 1}, Known(1), Known(0)},
		{"more cached than input", usd(1), usd(0.5), nil, Tokens{Input: 10, Cached: optional.Counted(20)}, Known(5000), Known(0)},
		{"the most", usd(1e6), nil, usd(1e6), Tokens{Input: 1 << 31, Output: 1 << 31}, Known(1e9 << 31), Known(1e9 << 31)},
		{"more than a number holds", usd(1e6), nil, nil, Tokens{Input: math.MaxInt64}, Known(math.MaxInt64), Known(0)},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := NewPrice(test.input, test.cached, test.output)
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Cost(test.tokens); got != (Cost{test.wantInput, test.wantOutput}) {
				t.Errorf("got %+v, want %v and %v", got, test.wantInput, test.wantOutput)
			}
		})
	}
}

func TestPricesThatMakeNoSenseAreRefused(t *testing.T) {
	for _, v := range []float64{-1, math.NaN(), math.Inf(1), 1e7} {
		if _, err := NewPrice(nil, usd(v), nil); err == nil || !strings.Contains(err.Error(), "usd_per_1m.cached_input") {
			t.Errorf("%v: error %v", v, err)
		}
	}
}

// Costs are those of exact arithmetic, rounded once.
func TestCostIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		micros := rapid.Int64Range(0, 1e12).Draw(t, "micro-dollars per 1M")
		tokens := rapid.Int64Range(0, 1<<31).Draw(t, "tokens")
		p, err := NewPrice(usd(float64(micros)/1e6), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		pico := new(big.Int).Mul(big.NewInt(micros), big.NewInt(tokens))
		want := new(big.Int).Div(pico.Add(pico, big.NewInt(500)), big.NewInt(1000)).Int64()
		if got, ok := p.Cost(Tokens{Input: tokens}).Input.Value(); !ok || int64(got) != want {
			t.Errorf("%d tokens at %d: %d, want %d", tokens, micros, got, want)
		}
	})
}

func TestNanoUSDIsWrittenExactly(t *testing.T) {
	for _, test := range []struct {
		amount NanoUSD
		want   string
	}{
		{0, "0"}, {1, "0.000000001"}, {1_500_000_000, "1.5"}, {-20, "-0.00000002"}, {12_000_000_000, "12"},
		{math.MaxInt64, "9223372036.854775807"}, {math.MinInt64, "-9223372036.854775808"},
	} {
		if got := test.amount.String(); got != test.want {
			t.Errorf("%d is written %s, want %s", int64(test.amount), got, test.want)
		}
	}
}

func TestCancelledSavesWhatWasNotGenerated(t *testing.T) {
	p, err := NewPrice(usd(1), nil, usd(2))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name               string
		price              Price
		allowed, generated int64
		want               Saved
	}{
		{"in the middle", p, 100, 30, Saved{By: Cancellation, Output: 70, Cost: Known(70 * 2000)}},
		{"at the end", p, 100, 100, Saved{}},
		{"beyond its limit", p, 100, 120, Saved{}},
		{"without a limit", p, 0, 30, Saved{}},
		{"without a price", Price{}, 100, 30, Saved{By: Cancellation, Output: 70}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Cancelled(test.price, test.allowed, test.generated); got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestCacheHitCostsNothingOrTheSetShare(t *testing.T) {
	p, err := NewPrice(usd(1), nil, usd(2))
	if err != nil {
		t.Fatal(err)
	}
	first := Tokens{Input: 100, Output: 50} // 100,000 + 100,000 nano-dollars
	for _, test := range []struct {
		name  string
		price Price
		share float64
		saved Amount
		cost  Cost
	}{
		{"free", p, 0, Known(200_000), Cost{Known(0), Known(0)}},
		{"a tenth", p, 0.1, Known(180_000), Cost{Known(10_000), Known(10_000)}},
		{"free without a price", Price{}, 0, Amount{}, Cost{Known(0), Known(0)}},
		{"a share of an unknown price", Price{}, 0.1, Amount{}, Cost{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			saved, cost := Repeated(ExactCache, test.price, first, test.share)
			if saved != (Saved{By: ExactCache, Input: 100, Output: 50, Cost: test.saved}) || cost != test.cost {
				t.Errorf("saved %+v for %+v", saved, cost)
			}
		})
	}
}
