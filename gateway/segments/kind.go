package segments

import (
	"cmp"
	"slices"
	"strings"
)

// Kind is what text that changes from prompt to prompt looks like.
type Kind string

const (
	UUID       Kind = "uuid"
	Timestamp  Kind = "timestamp"
	Date       Kind = "date"
	Identifier Kind = "identifier" // a long run of hexadecimal digits
	Counter    Kind = "counter"    // a number that grows in small steps
	Number     Kind = "number"
	Text       Kind = "text" // nothing of these
)

// specific orders kinds: what says more comes first.
var specific = []Kind{UUID, Timestamp, Date, Identifier, Number}

// margin is how far around a piece something may begin or end that the piece
// holds a part of.
const margin = 48

// found is something that looks like a kind, at text[start:end].
type found struct {
	kind       Kind
	start, end int
}

// escapes of JSON end in a letter that must not pass for one of the text's.
var escapes = strings.NewReplacer(`\n`, "  ", `\t`, "  ", `\r`, "  ")

// look finds all in or across text[from:to] that looks like something, the most
// specific first.
func look(text string, from, to int) (all []found) {
	left, right := max(0, from-margin), min(len(text), to+margin)
	s := scanner(text[left:right])
	if !strings.ContainsAny(string(s), "0123456789") {
		return nil
	}
	if strings.Contains(string(s), `\`) {
		s = scanner(escapes.Replace(string(s)))
	}
	for i := 0; i < len(s); {
		kind, n := s.at(i)
		if n == 0 {
			i++
			continue
		}
		if f := (found{kind, left + i, left + i + n}); f.end > from && f.start < to {
			all = append(all, f)
		}
		i += n
	}
	slices.SortStableFunc(all, func(a, b found) int {
		return cmp.Compare(slices.Index(specific, a.kind), slices.Index(specific, b.kind))
	})
	return all
}

// low is the low half of a number, enough to see it grow.
func low(digits string) (v uint16) {
	for _, c := range []byte(digits) {
		v = v*10 + uint16(c-'0')
	}
	return v
}

// step is the largest difference between two values of a counter, in either
// direction: requests overtake each other.
const step = 64

func counts(before, now uint16) bool {
	d := int16(now - before)
	return d != 0 && d >= -step && d <= step
}
