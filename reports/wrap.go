package reports

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// glue is a space at which a line is not broken while there is room; it is
// written as a space.
const glue = "\u00a0"

// list joins the parts of an enumeration, each of which stays on one line.
func list(parts []string, separator string) string {
	glued := make([]string, len(parts))
	for i, part := range parts {
		glued[i] = strings.ReplaceAll(part, " ", glue)
	}
	return strings.Join(glued, separator)
}

// wrap breaks text between words, and only there: a flag is not cut at its
// hyphens, nor a number from its unit. Styles count for nothing.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range words(text, width) {
		if line != "" && ansi.StringWidth(line)+1+ansi.StringWidth(word) > width {
			lines, line = append(lines, line), word
			continue
		}
		if line != "" || word == "" {
			line += " "
		}
		line += word
	}
	lines = append(lines, line)
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], glue, " ")
	}
	return lines
}

// words splits text where a line may be broken. What is glued and yet wider
// than a line is split all the same.
func words(text string, width int) (out []string) {
	fits := func(word string) bool { return ansi.StringWidth(word) <= width }
	for _, word := range strings.Split(text, " ") {
		last := len(out) - 1
		switch {
		case last >= 0 && isNumber(out[last]) && isUnit(word) && fits(out[last]+glue+word):
			out[last] += glue + word
		case fits(word):
			out = append(out, word)
		default:
			out = append(out, strings.Split(word, glue)...)
		}
	}
	return out
}

// isNumber reports whether the last word of s is a number that a unit may
// follow: "28.9", "(1,000", but not "5," which ends a phrase.
func isNumber(s string) bool {
	s = ansi.Strip(s)
	if i := strings.LastIndex(s, glue); i >= 0 {
		s = s[i+len(glue):]
	}
	s = strings.TrimLeft(s, "($")
	last, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsDigit(last) && strings.Trim(s, "0123456789.,") == ""
}

// isUnit reports whether a word can be the unit of the number before it.
func isUnit(s string) bool {
	first, _ := utf8.DecodeRuneInString(ansi.Strip(s))
	return first == '%' || unicode.IsLetter(first)
}
