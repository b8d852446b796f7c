package usage

import (
	"strconv"
	"strings"
)

// NanoUSD is an amount of money in billionths of a dollar. Integers add up to the
// same total in any order and in any database.
type NanoUSD int64

// nanosPerUSD is how many NanoUSD are a dollar.
const nanosPerUSD = 1_000_000_000

// USD returns the amount in dollars.
func (n NanoUSD) USD() float64 { return float64(n) / nanosPerUSD }

// String writes the amount in dollars, exactly: 0.00042.
func (n NanoUSD) String() string {
	sign, v := "", uint64(n)
	if n < 0 {
		sign, v = "-", -v
	}
	text := sign + strconv.FormatUint(v/nanosPerUSD, 10)
	if rest := v % nanosPerUSD; rest > 0 {
		digits := strconv.FormatUint(nanosPerUSD+rest, 10)[1:] // with its leading zeros
		text += "." + strings.TrimRight(digits, "0")
	}
	return text
}

// MarshalJSON writes the amount as a number of dollars, exactly.
func (n NanoUSD) MarshalJSON() ([]byte, error) { return []byte(n.String()), nil }

// Amount is money that may be unknown. The zero Amount is unknown; Known(0) is
// free.
type Amount struct {
	nano  NanoUSD
	known bool
}

// Known returns n as an Amount.
func Known(n NanoUSD) Amount { return Amount{n, true} }

// Value returns the amount; ok is false when it is unknown.
func (a Amount) Value() (n NanoUSD, ok bool) { return a.nano, a.known }

// Plus adds two amounts. What is unknown makes the sum unknown.
func (a Amount) Plus(b Amount) Amount {
	if !a.known || !b.known {
		return Amount{}
	}
	return Known(a.nano + b.nano)
}

// Times returns a share of the amount, rounded to the nearest NanoUSD.
func (a Amount) Times(share float64) Amount {
	if !a.known {
		return a
	}
	return Known(NanoUSD(roundHalfUp(float64(a.nano) * share)))
}
