package sizing

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// interval is what a rounded number may have been.
type interval struct{ low, high float64 }

// evaluate reads an expression of a derivation:
//
//	sum     = product { ("+" | "−") product }
//	product = value { ("×" | "÷") value }
//	value   = "(" sum ")" | "⌈" sum "⌉" | "⌊" sum "⌋" | "√" value | ("max" | "min") "(" sum ", " sum ")" | ["−" | "-"] ["$"] number [unit]
//
// A number with a decimal point and at least four significant digits is within
// half a unit of its last digit, any other is exact.
func evaluate(text string) (v interval, err error) {
	e := &expression{rest: text}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v at %q in %q", r, e.rest, text)
		}
	}()
	v = e.sum()
	if e.rest != "" {
		panic("left over")
	}
	return v, nil
}

type expression struct{ rest string }

// take skips spaces and then s, if it is there.
func (e *expression) take(s string) bool {
	t := strings.TrimLeft(e.rest, " ")
	if !strings.HasPrefix(t, s) {
		return false
	}
	e.rest = t[len(s):]
	return true
}

func (e *expression) must(s string) {
	if !e.take(s) {
		panic("no " + s)
	}
}

func (e *expression) sum() interval {
	v := e.product()
	for {
		switch {
		case e.take("+"):
			w := e.product()
			v = interval{v.low + w.low, v.high + w.high}
		case e.take("−"):
			w := e.product()
			v = interval{v.low - w.high, v.high - w.low}
		default:
			return v
		}
	}
}

func (e *expression) product() interval {
	v := e.value()
	for {
		switch {
		case e.take("×"):
			v = corners(v, e.value(), func(a, b float64) float64 { return a * b })
		case e.take("÷"):
			w := e.value()
			if w.low <= 0 && w.high >= 0 {
				panic("division by nothing")
			}
			v = corners(v, w, func(a, b float64) float64 { return a / b })
		default:
			return v
		}
	}
}

// corners is the range of a function that is monotone in each argument.
func corners(v, w interval, f func(a, b float64) float64) interval {
	a, b, c, d := f(v.low, w.low), f(v.low, w.high), f(v.high, w.low), f(v.high, w.high)
	return interval{min(a, b, c, d), max(a, b, c, d)}
}

func (e *expression) value() interval {
	switch {
	case e.take("("):
		v := e.sum()
		e.must(")")
		return v
	case e.take("⌈"):
		v := e.sum()
		e.must("⌉")
		return interval{math.Ceil(v.low - 1e-6), math.Ceil(v.high)}
	case e.take("⌊"):
		v := e.sum()
		e.must("⌋")
		return interval{math.Floor(v.low), math.Floor(v.high + 1e-6)}
	case e.take("√"):
		v := e.value()
		return interval{math.Sqrt(v.low), math.Sqrt(v.high)}
	case e.take("max("):
		return e.pair(math.Max)
	case e.take("min("):
		return e.pair(math.Min)
	case e.take("−"), e.take("-"):
		v := e.number()
		return interval{-v.high, -v.low}
	}
	e.take("$")
	return e.number()
}

func (e *expression) pair(f func(a, b float64) float64) interval {
	v := e.sum()
	e.must(", ")
	w := e.sum()
	e.must(")")
	return corners(v, w, f)
}

// unitScales are the units of derivations; words that follow a number say what
// is counted.
var unitScales = map[string]float64{
	"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40, "GB/s": 1e9,
	"µs": 1e-6, "ms": 1e-3, "s": 1, "/s": 1, "ms²": 1e-6, "GFLOP": 1e9, "TFLOP": 1e12, "TFLOP/s": 1e12,
	"B of index": 1, "B of scales": 1,
}

func (e *expression) number() interval {
	e.take("")
	e.rest = strings.TrimLeft(e.rest, " ")
	end := 0
	for end < len(e.rest) {
		c := e.rest[end]
		thousands := c == ',' && end+3 < len(e.rest) && e.rest[end+1] != ' '
		if c != '.' && (c < '0' || c > '9') && !thousands {
			break
		}
		end++
	}
	digits := strings.ReplaceAll(e.rest[:end], ",", "")
	v, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		panic(err)
	}
	e.rest = e.rest[end:]
	half := 0.0
	significant := len(strings.ReplaceAll(strings.TrimLeft(digits, "0."), ".", ""))
	if _, decimals, _ := strings.Cut(digits, "."); decimals != "" && significant >= 4 {
		half = 0.5000001 * math.Pow(10, -float64(len(decimals)))
	}
	scale := e.unit()
	return interval{(v - half) * scale, (v + half) * scale}
}

// unit reads up to the next operator.
func (e *expression) unit() float64 {
	end := strings.IndexAny(e.rest, "+−×÷()⌈⌉⌊⌋√,")
	if end < 0 {
		end = len(e.rest)
	}
	name := strings.TrimSpace(e.rest[:end])
	scale, ok := unitScales[name]
	if !ok || !utf8.ValidString(name) {
		panic("unknown unit " + name)
	}
	e.rest = e.rest[end:]
	return scale
}
