package usage

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/llmctl/llmctl/internal/optional"
)

// Price is what tokens of a deployment cost. Prices are kept in trillionths of a
// dollar per token, which is what $ per million tokens with six decimals is, so
// that costs are integer arithmetic. An absent price is unknown; the zero Price
// knows none.
type Price struct {
	input, cached, output optional.Count // pico-dollars per token
}

const (
	picoPerUSDPer1M = 1_000_000 // pico-dollars a token, of one $ per million tokens
	picoPerNano     = 1000
	maxUSDPer1M     = 1_000_000 // a dollar a token; more is a slip of the unit
)

// NewPrice returns the price of tokens in $ per million. A nil price is unknown,
// except that cached input costs what input does. Errors say what is wrong with
// which of them.
func NewPrice(input, cachedInput, output *float64) (p Price, err error) {
	for _, part := range []struct {
		name string
		usd  *float64
		to   *optional.Count
	}{{"input", input, &p.input}, {"cached_input", cachedInput, &p.cached}, {"output", output, &p.output}} {
		if part.usd == nil {
			continue
		}
		if v := *part.usd; !(v >= 0 && v <= maxUSDPer1M) {
			return Price{}, fmt.Errorf("usd_per_1m.%s: expected $ per million tokens from 0 to %d, got %v", part.name, maxUSDPer1M, v)
		}
		*part.to = optional.Counted(int(roundHalfUp(*part.usd * picoPerUSDPer1M)))
	}
	return p, nil
}

// Cost is what the tokens of a request cost.
type Cost struct {
	Input  Amount // cached input included
	Output Amount // reasoning included
}

// Total is the whole cost, unknown when one part of it is.
func (c Cost) Total() Amount { return c.Input.Plus(c.Output) }

// Times returns a share of the cost.
func (c Cost) Times(share float64) Cost { return Cost{c.Input.Times(share), c.Output.Times(share)} }

// Cost prices tokens, each part rounded to the nearest NanoUSD once. No tokens of
// a kind cost nothing, whether their price is known or not.
func (p Price) Cost(t Tokens) Cost {
	cached, _ := t.Cached.Value()
	hit := min(max(int64(cached), 0), t.Input)
	cachedPrice := p.cached
	if !cachedPrice.Known() {
		cachedPrice = p.input
	}
	return Cost{
		Input:  amount(part{t.Input - hit, p.input}, part{hit, cachedPrice}),
		Output: amount(part{t.Output, p.output}),
	}
}

// part is a number of tokens at a price.
type part struct {
	tokens int64
	price  optional.Count
}

func amount(parts ...part) Amount {
	var high, low uint64 // pico-dollars, in 128 bits
	for _, p := range parts {
		if p.tokens <= 0 {
			continue
		}
		price, ok := p.price.Value()
		if !ok {
			return Amount{}
		}
		h, l := bits.Mul64(uint64(p.tokens), uint64(price))
		var carry uint64
		low, carry = bits.Add64(low, l, 0)
		high += h + carry
	}
	low, carry := bits.Add64(low, picoPerNano/2, 0)
	high += carry
	if high >= picoPerNano {
		return Known(math.MaxInt64) // more than the quotient can hold
	}
	nano, _ := bits.Div64(high, low, picoPerNano)
	return Known(NanoUSD(min(nano, math.MaxInt64)))
}

func roundHalfUp(v float64) float64 { return math.Floor(v + 0.5) }
