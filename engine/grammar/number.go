package grammar

import (
	"math/big"
	"strconv"
	"strings"
)

// Digits of numbers are bounded, so that a model cannot write them for ever and so
// that every reader can hold the value: 18 digits fit int64, and the exponent keeps
// float64 finite.
const (
	maxDigits   = 18 // before the point, and after it
	maxExponent = 2  // digits of an exponent
)

// freeNumber writes any JSON number within the bounds; an integer has no fraction and
// no exponent.
func freeNumber(integer bool) func(*draft) {
	return func(d *draft) {
		at := d.then(first, "-")
		d.skip(first, at)
		end := d.state()
		d.byteIn(at, end, '0', '0')
		d.digits(d.digit(at, '1'), end, maxDigits-1)
		d.skip(end, last)
		if integer {
			return
		}
		fraction, exponent := d.state(), d.state()
		d.skip(end, fraction)
		d.digits(d.digit(d.then(end, "."), '0'), fraction, maxDigits-1)
		d.skip(fraction, last)
		d.byteIn(fraction, exponent, 'e', 'e')
		d.byteIn(fraction, exponent, 'E', 'E')
		signed := d.state()
		d.skip(exponent, signed)
		d.byteIn(exponent, signed, '+', '+')
		d.byteIn(exponent, signed, '-', '-')
		d.digits(d.digit(signed, '0'), last, maxExponent-1)
	}
}

// digit reads one digit from least to 9 and returns where that leads.
func (d *draft) digit(from int32, least byte) int32 {
	to := d.state()
	d.byteIn(from, to, least, '9')
	return to
}

// digits reads up to n more digits.
func (d *draft) digits(from, to int32, n int) {
	d.skip(from, to)
	for range n {
		from = d.digit(from, '0')
		d.skip(from, to)
	}
}

// A bound of a number, exactly as its schema writes it.
type bound struct {
	value    *big.Rat
	whole    string // digits before the point, without leading zeros: "0" for none
	fraction string // digits after the point, without trailing zeros
	open     bool   // the bound itself is excluded
}

// parseBound reads a bound. Its decimal form has at most 400 digits on either side,
// more than any float64.
func parseBound(text string, open bool, at string) bound {
	mantissa, exponent := strings.ToLower(text), 0
	if m, e, ok := strings.Cut(mantissa, "e"); ok {
		var err error
		if exponent, err = strconv.Atoi(e); err != nil || exponent < -400 || exponent > 400 {
			tooLarge("number %s at %s", text, at)
		}
		mantissa = m
	}
	whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), ".")
	if len(whole)+len(fraction) > 400 {
		tooLarge("number of %d digits at %s", len(whole)+len(fraction), at)
	}
	switch {
	case exponent > 0:
		fraction += strings.Repeat("0", max(0, exponent-len(fraction)))
		whole, fraction = whole+fraction[:exponent], fraction[exponent:]
	case exponent < 0:
		whole = strings.Repeat("0", max(0, -exponent-len(whole))) + whole
		cut := len(whole) + exponent
		whole, fraction = whole[:cut], whole[cut:]+fraction
	}
	whole = strings.TrimLeft(whole, "0")
	if whole == "" {
		whole = "0"
	}
	value, ok := new(big.Rat).SetString(text)
	if !ok {
		fail("schema at %s: expected a number, got %s", at, text)
	}
	return bound{value: value, whole: whole, fraction: strings.TrimRight(fraction, "0"), open: open}
}

// A numberRule is what a schema asks of a number.
type numberRule struct {
	integer bool
	low     *bound
	high    *bound
}

// lower and upper keep the narrower of two bounds.
func (r *numberRule) lower(b bound) {
	if r.low == nil || b.value.Cmp(r.low.value) > 0 || b.value.Cmp(r.low.value) == 0 && b.open {
		r.low = &b
	}
}

func (r *numberRule) upper(b bound) {
	if r.high == nil || b.value.Cmp(r.high.value) < 0 || b.value.Cmp(r.high.value) == 0 && b.open {
		r.high = &b
	}
}

func (r numberRule) free() bool { return r.low == nil && r.high == nil }

func (r numberRule) key() string {
	key := "number " + strconv.FormatBool(r.integer)
	for _, b := range []*bound{r.low, r.high} {
		if b == nil {
			key += " none"
		} else {
			key += " " + b.value.RatString() + strconv.FormatBool(b.open)
		}
	}
	return key
}

var zero = bound{value: new(big.Rat), whole: "0"}

// write writes the numbers within bounds, without exponents, and 0 without a sign.
func (r numberRule) write(d *draft) {
	low, high := r.low, r.high
	if high == nil || high.value.Sign() >= 0 {
		from := zero
		if low != nil && low.value.Sign() >= 0 {
			from = *low
		}
		d.interval(first, last, from, high, !r.integer)
	}
	if low == nil || low.value.Sign() < 0 {
		from := zero
		from.open = true // there is no −0
		if high != nil && high.value.Sign() <= 0 {
			from = *high
			from.value = new(big.Rat).Neg(high.value)
			from.open = from.open || high.value.Sign() == 0
		}
		var to *bound
		if low != nil {
			b := *low
			b.value = new(big.Rat).Neg(low.value)
			to = &b
		}
		d.interval(d.then(first, "-"), last, from, to, !r.integer)
	}
}

// interval reads a number without a sign from low to high, which may be nil. It walks
// the digits and keeps in its state whether those so far are the bounds' own.
func (d *draft) interval(from, to int32, low bound, high *bound, fraction bool) {
	for n := 1; n <= maxDigits; n++ {
		if len(low.whole) > n || high != nil && len(high.whole) < n {
			continue
		}
		w := intervalWriter{d: d, to: to, low: low, digits: n, fraction: fraction, at: map[intervalState]int32{}}
		if high != nil {
			w.high = *high
		}
		begin := intervalState{low: len(low.whole) == n, high: high != nil && len(high.whole) == n}
		w.at[begin] = from
		w.walk(begin)
	}
}

// An intervalState is how far a number has come: digits read, the point counting as
// none, and whether they equal those of the bounds.
type intervalState struct {
	pos       int
	low, high bool
}

type intervalWriter struct {
	d         *draft
	to        int32
	low, high bound
	digits    int // before the point
	fraction  bool
	at        map[intervalState]int32
}

// digit is a bound's digit at a place, as a number's digits are counted.
func (w *intervalWriter) digit(b bound, pos int) byte {
	digits := b.whole
	if pos >= w.digits {
		digits, pos = b.fraction, pos-w.digits
	}
	if pos < len(digits) {
		return digits[pos]
	}
	return '0'
}

func (w *intervalWriter) walk(s intervalState) {
	from := w.at[s]
	if s.pos >= w.digits && w.within(s) {
		w.d.skip(from, w.to)
	}
	switch {
	case s.pos == w.digits+maxDigits, s.pos == w.digits && !w.fraction:
		return
	case s.pos == w.digits:
		from = w.d.then(from, ".")
	}
	least, most := byte('0'), byte('9')
	if s.pos == 0 && w.digits > 1 {
		least = '1'
	}
	if s.low {
		least = max(least, w.digit(w.low, s.pos))
	}
	if s.high {
		most = min(most, w.digit(w.high, s.pos))
	}
	for c := least; c <= most; c++ {
		next := intervalState{
			pos:  s.pos + 1,
			low:  s.low && c == w.digit(w.low, s.pos),
			high: s.high && c == w.digit(w.high, s.pos),
		}
		to, ok := w.at[next]
		if !ok {
			to = w.d.state()
			w.at[next] = to
		}
		w.d.byteIn(from, to, c, c)
		if !ok {
			w.walk(next)
		}
	}
}

// within says whether a number that ends in a state lies within the bounds.
func (w *intervalWriter) within(s intervalState) bool {
	read := s.pos - w.digits // digits of the fraction
	if s.low && (w.low.open || len(w.low.fraction) > read) {
		return false
	}
	return !s.high || len(w.high.fraction) > read || !w.high.open
}
