package profiles

import (
	"cmp"
	"fmt"
	"strings"
)

// longestName is how many bytes of a name are looked at and shown: no name of
// anything is longer, and whole files have been taken for one.
const longestName = 200

// Suggest returns the known name nearest to name, or "" when none is near. A
// name is near when at most a third of its letters, and at least two, would
// have to change; a known name that contains it counts as near as well. One that
// begins with it, or has its words in their order (llama8b in llama-3.1-8b), is
// nearer than one that is two letters off.
func Suggest(name string, known []string) string {
	if len(name) > longestName {
		return ""
	}
	want := strings.ToLower(name)
	best, bestDistance := "", max(2, len(want)/3)+1
	for _, candidate := range known {
		if d := editDistance(want, strings.ToLower(candidate)); d < bestDistance {
			best, bestDistance = candidate, d
		}
	}
	if near := sameWords(want, known); near != "" {
		return near
	}
	if bestDistance < 2 || len(want) < 3 {
		return best
	}
	begins := func(candidate string) bool { return strings.HasPrefix(candidate, want) }
	if near := usual(known, begins); near != "" {
		return near
	}
	if best != "" {
		return best
	}
	return usual(known, func(candidate string) bool { return strings.Contains(candidate, want) })
}

// usual is the first known name that fits, in lower case, but of the forms of an
// accelerator the one on a server's board.
func usual(known []string, fits func(string) bool) string {
	first := ""
	for _, candidate := range known {
		if !fits(strings.ToLower(candidate)) {
			continue
		}
		if strings.Contains(candidate, "-sxm") {
			return candidate
		}
		if first == "" {
			first = candidate
		}
	}
	return first
}

// nameParts splits a name at punctuation and before digits: llama8b is llama, 8b.
func nameParts(name string) (parts []string) {
	start := 0
	add := func(end int) {
		if end > start {
			parts = append(parts, name[start:end])
		}
	}
	isDigit := func(c byte) bool { return c >= '0' && c <= '9' }
	for i := range len(name) {
		switch c := name[i]; {
		case strings.IndexByte("-_./ :", c) >= 0:
			add(i)
			start = i + 1
		case i > start && isDigit(c) && !isDigit(name[i-1]):
			add(i)
			start = i
		}
	}
	add(len(name))
	return parts
}

// sameWords is the last known name, which is the newest of a family, that begins
// and ends as name does and has all its words, at least two, in their order; ""
// when there is none.
func sameWords(name string, known []string) string {
	parts := nameParts(name)
	if len(parts) < 2 {
		return ""
	}
	last := ""
	for _, candidate := range known {
		all, i := nameParts(strings.ToLower(candidate)), 0
		if len(all) < len(parts) || all[0] != parts[0] || all[len(all)-1] != parts[len(parts)-1] {
			continue
		}
		for _, part := range all {
			if i < len(parts) && part == parts[i] {
				i++
			}
		}
		if i == len(parts) {
			last = candidate
		}
	}
	return last
}

// DidYouMean is the end of an error about a name that is not among known:
// `, did you mean "bf16"?`, or "" when no known name is near.
func DidYouMean(name string, known []string) string {
	near := Suggest(name, known)
	if near == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", near)
}

// unknown words the error for a name that is not among known; the hint stands
// in for a near name when there is none.
func unknown(kind, name string, known []string, hint string) error {
	shown := name
	if len(name) > longestName {
		shown = name[:longestName] + "…"
	}
	return fmt.Errorf("unknown %s %q%s", kind, shown, cmp.Or(DidYouMean(name, known), ", "+hint))
}

// editDistance is the Levenshtein distance with transpositions of neighbours
// counted as one edit (optimal string alignment).
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	older, previous, current := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := 1; i <= len(s); i++ {
		current[0] = i
		for j := 1; j <= len(t); j++ {
			cost := 1
			if s[i-1] == t[j-1] {
				cost = 0
			}
			current[j] = min(previous[j]+1, current[j-1]+1, previous[j-1]+cost)
			if i > 1 && j > 1 && s[i-1] == t[j-2] && s[i-2] == t[j-1] {
				current[j] = min(current[j], older[j-2]+1)
			}
		}
		older, previous, current = previous, current, older
	}
	return previous[len(t)]
}
