package jinja

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is a string of a template. It knows which of its bytes came from outside.
type Text struct {
	s    string
	user []span // of bytes, ascending, none empty, none touching the next
}

type span struct{ lo, hi int }

// Trusted is a text that the template's author or the model's files wrote.
func Trusted(s string) Text { return Text{s: s} }

// User is a text from outside.
func User(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{s, []span{{0, len(s)}}}
}

// String returns the text alone.
func (t Text) String() string { return t.s }

// Parts calls yield for each longest stretch of one origin, in order.
func (t Text) Parts(yield func(s string, trusted bool) bool) {
	at := 0
	for _, u := range t.user {
		if at < u.lo && !yield(t.s[at:u.lo], true) {
			return
		}
		if !yield(t.s[u.lo:u.hi], false) {
			return
		}
		at = u.hi
	}
	if at < len(t.s) {
		yield(t.s[at:], true)
	}
}

// slice returns the bytes from lo to before hi.
func (t Text) slice(lo, hi int) Text {
	if lo >= hi {
		return Text{}
	}
	out := Text{s: t.s[lo:hi]}
	first, _ := slices.BinarySearchFunc(t.user, lo+1, func(u span, at int) int { return u.hi - at })
	for _, u := range t.user[first:] {
		if u.lo >= hi {
			break
		}
		out.user = append(out.user, span{max(u.lo, lo) - lo, min(u.hi, hi) - lo})
	}
	return out
}

// as returns s, which was made of t in a way that does not tell which byte came
// from where: it is the user's if any of t is.
func (t Text) as(s string) Text {
	if len(t.user) > 0 {
		return User(s)
	}
	return Trusted(s)
}

// each maps every stretch of one origin by itself.
func (t Text) each(change func(string) string) Text {
	if len(t.user) == 0 {
		return Trusted(change(t.s))
	}
	var b builder
	for s, trusted := range t.Parts {
		if s = change(s); trusted {
			b.add(Trusted(s))
		} else {
			b.add(User(s))
		}
	}
	return b.text()
}

func isSpace(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// trim drops runes that drop accepts from the left, the right, or both.
func (t Text) trim(left, right bool, drop func(rune) bool) Text {
	lo, hi := 0, len(t.s)
	if left {
		lo = hi - len(strings.TrimLeftFunc(t.s, drop))
	}
	if right {
		hi = lo + len(strings.TrimRightFunc(t.s[lo:], drop))
	}
	return t.slice(lo, hi)
}

// replace replaces the first n places of old, all of them when n is negative.
func (t Text) replace(old, with Text, n int) Text {
	var b builder
	at := 0
	for n != 0 && len(old.s) > 0 {
		i := strings.Index(t.s[at:], old.s)
		if i < 0 {
			break
		}
		b.add(t.slice(at, at+i))
		b.add(with)
		at += i + len(old.s)
		n--
	}
	if old.s == "" {
		for n != 0 {
			b.add(with)
			n--
			_, size := utf8.DecodeRuneInString(t.s[at:])
			if size == 0 {
				break
			}
			b.add(t.slice(at, at+size))
			at += size
		}
	}
	b.add(t.slice(at, len(t.s)))
	return b.text()
}

// split cuts at every place of separator, n times at most unless n is negative.
func (t Text) split(separator string, n int) []Value {
	var out []Value
	at := 0
	for n != 0 {
		i := strings.Index(t.s[at:], separator)
		if i < 0 {
			break
		}
		out = append(out, t.slice(at, at+i))
		at += i + len(separator)
		n--
	}
	return append(out, t.slice(at, len(t.s)))
}

// splitFromRight is split that takes its n cuts from the end.
func (t Text) splitFromRight(separator string, n int) []Value {
	var out []Value
	end := len(t.s)
	for n != 0 {
		i := strings.LastIndex(t.s[:end], separator)
		if i < 0 {
			break
		}
		out = append(out, t.slice(i+len(separator), end))
		end = i
		n--
	}
	out = append(out, t.slice(0, end))
	slices.Reverse(out)
	return out
}

// fields cuts at white space, which Python's split does without arguments.
func (t Text) fields(n int) []Value {
	var out []Value
	rest := t.trim(true, false, isSpace)
	for rest.s != "" {
		i := strings.IndexFunc(rest.s, isSpace)
		if i < 0 || n == 0 {
			break
		}
		out = append(out, rest.slice(0, i))
		rest = rest.slice(i, len(rest.s)).trim(true, false, isSpace)
		n--
	}
	if rest.s != "" {
		out = append(out, rest)
	}
	return out
}

// offsets returns where the runes begin, and the length at the end. It is nil when
// every byte is a rune.
func (t Text) offsets() []int {
	if utf8.RuneCountInString(t.s) == len(t.s) {
		return nil
	}
	at := make([]int, 0, len(t.s)+1)
	for i := range t.s {
		at = append(at, i)
	}
	return append(at, len(t.s))
}

func (t Text) runes() []Value {
	out := make([]Value, 0, len(t.s))
	for at := 0; at < len(t.s); {
		_, size := utf8.DecodeRuneInString(t.s[at:])
		out = append(out, t.slice(at, at+size))
		at += size
	}
	return out
}

// builder joins texts.
type builder struct {
	b    strings.Builder
	user []span
}

func (b *builder) add(t Text) {
	base := b.b.Len()
	b.b.WriteString(t.s)
	for _, u := range t.user {
		lo, hi := base+u.lo, base+u.hi
		if n := len(b.user); n > 0 && b.user[n-1].hi == lo {
			b.user[n-1].hi = hi
			continue
		}
		b.user = append(b.user, span{lo, hi})
	}
}

func (b *builder) text() Text { return Text{b.b.String(), b.user} }

func concat(texts ...Text) Text {
	var b builder
	for _, t := range texts {
		b.add(t)
	}
	return b.text()
}
