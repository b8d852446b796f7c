package grammar

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// A span is a range of code points, both ends included.
type span struct{ lo, hi rune }

// A class is a set of code points: sorted spans that do not touch. Surrogates are in
// none: no UTF-8 text has them.
type class []span

// anyRune is every code point that UTF-8 can encode.
var anyRune = class{{0, 0xD7FF}, {0xE000, utf8.MaxRune}}

// overlap is what two classes have in common.
func overlap(a, b class) class {
	var out class
	for len(a) > 0 && len(b) > 0 {
		lo, hi := max(a[0].lo, b[0].lo), min(a[0].hi, b[0].hi)
		if lo <= hi {
			out = append(out, span{lo, hi})
		}
		if a[0].hi < b[0].hi {
			a = a[1:]
		} else {
			b = b[1:]
		}
	}
	return out
}

// without is a class less some code points, which are sorted.
func without(c class, runes ...rune) class {
	var rest class
	at := rune(0)
	for _, r := range runes {
		if at < r {
			rest = append(rest, span{at, r - 1})
		}
		at = r + 1
	}
	return overlap(c, append(rest, span{at, utf8.MaxRune}))
}

// utf8Spans calls emit with the sequences of byte ranges that encode lo … hi: the
// standard split at the borders of encoded lengths and continuation bytes, as in Russ
// Cox, Regular Expression Matching in the Wild (2010), section "Implementation".
func utf8Spans(lo, hi rune, emit func([][2]byte)) {
	for _, border := range []rune{0x7F, 0x7FF, 0xFFFF} {
		if lo <= border && border < hi {
			utf8Spans(lo, border, emit)
			utf8Spans(border+1, hi, emit)
			return
		}
	}
	n := utf8.RuneLen(hi)
	for i := 1; i < n; i++ {
		m := rune(1)<<(6*i) - 1 // the bits of the last i bytes
		if lo&^m == hi&^m {
			continue
		}
		if lo&m != 0 {
			utf8Spans(lo, lo|m, emit)
			utf8Spans((lo|m)+1, hi, emit)
			return
		}
		if hi&m != m {
			utf8Spans(lo, hi&^m-1, emit)
			utf8Spans(hi&^m, hi, emit)
			return
		}
	}
	var a, b [utf8.UTFMax]byte
	utf8.EncodeRune(a[:], lo)
	utf8.EncodeRune(b[:], hi)
	ranges := make([][2]byte, n)
	for i := range n {
		ranges[i] = [2]byte{a[i], b[i]}
	}
	emit(ranges)
}

// ascii and beyond split a class by length in UTF-8.
var ascii, beyond = class{{0, 0x7F}}, class{{0x80, utf8.MaxRune}}

// raw reads one code point of a class as it is.
func (d *draft) raw(from, to int32, c class) {
	for _, s := range overlap(c, ascii) {
		d.byteIn(from, to, byte(s.lo), byte(s.hi))
	}
	d.wide(from, to, overlap(c, beyond))
}

// fewSpans is up to how many spans a class is written where it stands. Others, such as
// the letters of all scripts, are rules of their own, because patterns repeat them;
// but walking a call costs more than walking bytes.
const fewSpans = 4

// wide reads one code point that is no ASCII.
func (d *draft) wide(from, to int32, c class) {
	c = overlap(c, anyRune)
	if len(c) > fewSpans {
		d.call(from, to, d.c.rule(fmt.Sprintf("wide %v", c), false, func(d *draft) { d.encode(first, last, c) }))
		return
	}
	d.encode(from, to, c)
}

// encode reads the UTF-8 of one code point.
func (d *draft) encode(from, to int32, c class) {
	for _, s := range c {
		utf8Spans(s.lo, s.hi, func(ranges [][2]byte) {
			at := from
			for i, r := range ranges {
				next := to
				if i < len(ranges)-1 {
					next = d.state()
				}
				d.byteIn(at, next, r[0], r[1])
				at = next
			}
		})
	}
}

// written reads one code point of a class as it stands within a JSON string. Where the
// class has every code point, every escape will do; otherwise it is canonical.
func (d *draft) written(from, to int32, c class) {
	if !slices.Equal(c, anyRune) {
		d.canonical(from, to, c)
		return
	}
	d.raw(from, to, without(c, needEscape...))
	d.escape(from, to)
}

// canonical reads one code point of a class, which can be written in one way only: raw
// where RFC 8259 lets it, else by its short escape, else by \u00XX.
func (d *draft) canonical(from, to int32, c class) {
	d.raw(from, to, without(c, needEscape...))
	for _, r := range needEscape {
		if len(overlap(c, class{{r, r}})) > 0 {
			d.text(from, to, escaped(r))
		}
	}
}

// needEscape are the code points that are never raw in a JSON string, sorted.
var needEscape = func() []rune {
	var out []rune
	for r := range rune(0x20) {
		out = append(out, r)
	}
	return append(out, '"', '\\')
}()

// escaped is the one escape that stands for a code point which needs one.
func escaped(r rune) string {
	switch r {
	case '"', '\\':
		return `\` + string(r)
	case '\b':
		return `\b`
	case '\f':
		return `\f`
	case '\n':
		return `\n`
	case '\r':
		return `\r`
	case '\t':
		return `\t`
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// escape writes every escape of RFC 8259, section 7, that stands for one code point:
// surrogates come in pairs.
func (d *draft) escape(from, to int32) {
	at := d.then(from, `\`)
	for _, c := range []byte(`"\/bfnrt`) {
		d.byteIn(at, to, c, c)
	}
	u := d.then(at, "u")
	hex := func(from, to int32) {
		d.byteIn(from, to, '0', '9')
		d.byteIn(from, to, 'a', 'f')
		d.byteIn(from, to, 'A', 'F')
	}
	tail := func(from, to int32, n int) { // n more hexadecimal digits
		for range n - 1 {
			next := d.state()
			hex(from, next)
			from = next
		}
		hex(from, to)
	}
	plain := d.state() // after a first digit that begins no surrogate
	d.byteIn(u, plain, '0', '9')
	d.byteIn(u, plain, 'a', 'c')
	d.byteIn(u, plain, 'A', 'C')
	for _, c := range []byte("efEF") {
		d.byteIn(u, plain, c, c)
	}
	tail(plain, to, 3)
	d0 := d.state() // after the first digit of D000 … DFFF
	d.byteIn(u, d0, 'd', 'd')
	d.byteIn(u, d0, 'D', 'D')
	low := d.state()
	d.byteIn(d0, low, '0', '7')
	tail(low, to, 2)
	high := d.state()
	d.byteIn(d0, high, '8', '9')
	d.byteIn(d0, high, 'a', 'b')
	d.byteIn(d0, high, 'A', 'B')
	second := d.state()
	tail(high, second, 2)
	pair := d.then(second, `\u`)
	second = d.state()
	d.byteIn(pair, second, 'd', 'd')
	d.byteIn(pair, second, 'D', 'D')
	pair = d.state()
	d.byteIn(second, pair, 'c', 'f')
	d.byteIn(second, pair, 'C', 'F')
	tail(pair, to, 2)
}
