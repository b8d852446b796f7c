package limit

import (
	"fmt"
	"math"
	"strings"
)

// Money is an amount in billionths of a dollar (nano-dollars): at $0.05 per
// million tokens one token is 50 of them, so that sums of prices stay exact.
type Money int64

const dollar Money = 1e9

// Bounds of amounts, so that sums of a budget's spent, held and asked money
// cannot overflow: 2 × maxMoney + maxCost is below 2⁶³.
const (
	maxMoney = 4e9 * dollar // of a budget and of what was spent from it
	maxCost  = 1e9 * dollar // of one request
)

// Dollars returns an amount of dollars, rounded to a billionth and cut to at most
// four billion dollars. What is not a number is nothing.
func Dollars(usd float64) Money {
	switch {
	case math.IsNaN(usd) || usd <= 0:
		return 0
	case usd >= float64(maxMoney/dollar):
		return maxMoney
	}
	return Money(math.Round(usd * float64(dollar)))
}

// Dollars returns the amount in dollars.
func (m Money) Dollars() float64 { return float64(m) / float64(dollar) }

// String writes the amount like $40.00 or $0.0025.
func (m Money) String() string {
	sign := ""
	if m < 0 {
		sign, m = "-", -m
	}
	cents := strings.TrimRight(fmt.Sprintf("%09d", m%dollar), "0")
	return fmt.Sprintf("%s$%d.%s", sign, m/dollar, cents+strings.Repeat("0", max(0, 2-len(cents))))
}

func (m Money) clamped(top Money) Money { return min(max(m, 0), top) }
