package segments

import "strings"

// scanner recognizes what changes from prompt to prompt. Each method looks at one
// place and returns how many bytes there are of what it looks for, 0 for none.
// They are written out because a prompt with a timestamp at the top passes here
// with every request, and regular expressions take a tenth of a millisecond.
type scanner string

func (s scanner) byte(i int) byte {
	if i < 0 || i >= len(s) {
		return 0
	}
	return s[i]
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func hex(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// run is how many bytes from i on are of a set.
func (s scanner) run(i int, of func(byte) bool) int {
	n := 0
	for of(s.byte(i + n)) {
		n++
	}
	return n
}

// at returns what begins at i.
func (s scanner) at(i int) (Kind, int) {
	c, before := s.byte(i), s.byte(i-1)
	if digit(before) || letter(before) && letter(c) {
		return "", 0 // within a number or a word
	}
	if digit(c) || letter(c) {
		if n := s.date(i); n > 0 {
			if t := s.clockAfter(i + n); t > 0 {
				return Timestamp, n + t
			}
			return Date, n
		}
	}
	if !letter(before) && hex(c) {
		if n := s.uuid(i); n > 0 {
			return UUID, n
		}
		if n := s.identifier(i); n > 0 {
			return Identifier, n
		}
	}
	if !digit(c) {
		return "", 0
	}
	if n := s.clock(i); n > 0 {
		return Timestamp, n
	}
	n := s.run(i, digit)
	if c == '1' && (n == 10 || n == 13 || n == 16 || n == 19) && !letter(before) && !letter(s.byte(i+n)) {
		return Timestamp, n // seconds since 1970, from 2001 to 2033, or a thousandth each
	}
	return Number, n
}

// uuid is 8-4-4-4-12 hexadecimal digits.
func (s scanner) uuid(i int) int {
	n := 0
	for k, group := range []int{8, 4, 4, 4, 12} {
		if k > 0 {
			if s.byte(i+n) != '-' {
				return 0
			}
			n++
		}
		if s.run(i+n, hex) != group {
			return 0
		}
		n += group
	}
	return n
}

// leastIdentifier is how many hexadecimal digits are no word and no number.
const leastIdentifier = 12

// identifier is a long run of hexadecimal digits, letters and numerals among them.
func (s scanner) identifier(i int) int {
	n := s.run(i, hex)
	if n < leastIdentifier || letter(s.byte(i+n)) {
		return 0
	}
	text := string(s[i : i+n])
	if !strings.ContainsAny(text, "0123456789") || !strings.ContainsAny(text, "abcdefABCDEF") {
		return 0
	}
	return n
}

// date is 2026-11-30, 30.11.2026, 11/30/2026, November 30, 2026, 30 Nov 2026 and
// the like.
func (s scanner) date(i int) int {
	if letter(s.byte(i)) {
		m := s.month(i)
		if m == 0 || s.byte(i+m) != ' ' {
			return 0
		}
		d := s.dayOfMonth(i + m + 1)
		y := s.yearAfter(i + m + 1 + d)
		if d == 0 || y == 0 {
			return 0
		}
		return m + 1 + d + y
	}
	n := s.run(i, digit)
	if n != 4 && n > 2 {
		return 0
	}
	if sep := s.byte(i + n); sep == '-' || sep == '/' || sep == '.' {
		m := s.run(i+n+1, digit)
		d := s.run(i+n+1+m+1, digit)
		if m < 1 || m > 2 || s.byte(i+n+1+m) != sep || n == 4 && (d < 1 || d > 2) || n < 4 && d != 4 {
			return 0
		}
		return n + 1 + m + 1 + d
	}
	if d := s.dayOfMonth(i); d > 0 && s.byte(i+d) == ' ' {
		if m := s.month(i + d + 1); m > 0 {
			if y := s.yearAfter(i + d + 1 + m); y > 0 {
				return d + 1 + m + y
			}
		}
	}
	return 0
}

var months = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"}

// month is a month's name, or its beginning of three or four letters, with or
// without a full stop.
func (s scanner) month(i int) int {
	n := s.run(i, letter)
	if n < 3 || n > len("september") {
		return 0
	}
	word := strings.ToLower(string(s[i : i+n]))
	for _, m := range months {
		if word == m || n <= 4 && strings.HasPrefix(m, word) {
			if s.byte(i+n) == '.' {
				n++
			}
			return n
		}
	}
	return 0
}

// dayOfMonth is one or two digits, with or without st, nd, rd or th.
func (s scanner) dayOfMonth(i int) int {
	n := s.run(i, digit)
	if n < 1 || n > 2 {
		return 0
	}
	if s.run(i+n, letter) == 2 {
		switch string(s[i+n : i+n+2]) {
		case "st", "nd", "rd", "th":
			n += 2
		}
	}
	return n
}

// yearAfter is four digits behind a space or a comma.
func (s scanner) yearAfter(i int) int {
	n := 0
	if s.byte(i) == ',' {
		n++
	}
	if s.byte(i+n) == ' ' {
		n++
	}
	if n == 0 || s.run(i+n, digit) != 4 {
		return 0
	}
	return n + 4
}

// clock is 9:30, 09:30:15.250, 9:30 pm and the like.
func (s scanner) clock(i int) int {
	two := func(at int) bool { return s.byte(at) == ':' && s.run(at+1, digit) == 2 }
	n := s.run(i, digit)
	if n < 1 || n > 2 || !two(i+n) {
		return 0
	}
	n += 3
	if two(i + n) {
		n += 3
		if c := s.byte(i + n); (c == '.' || c == ',') && digit(s.byte(i+n+1)) {
			n += 1 + s.run(i+n+1, digit)
		}
	}
	half := n
	if s.byte(i+half) == ' ' {
		half++
	}
	if s.run(i+half, letter) == 2 && strings.EqualFold(string(s[i+half+1:i+half+2]), "m") && strings.ContainsRune("aApP", rune(s[i+half])) {
		return half + 2
	}
	return n
}

// clockAfter is a clock behind a date, with what stands between them.
func (s scanner) clockAfter(i int) int {
	for _, between := range []string{"T", " ", ", ", " at ", ", at "} {
		if strings.HasPrefix(string(s[i:]), between) {
			if n := s.clock(i + len(between)); n > 0 {
				return len(between) + n
			}
		}
	}
	return 0
}
