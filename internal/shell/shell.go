package shell

import "strings"

// plain are the characters that no shell treats specially in a word.
const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"

// Quote writes one word so that a shell reads it as it is: bare where it can be,
// else in single quotes, in which only a single quote is special.
func Quote(word string) string {
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Join quotes words and puts a space between them.
func Join(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = Quote(w)
	}
	return strings.Join(quoted, " ")
}

// Wrap is Join over several lines of at most width columns where words allow:
// each further line is indented, begins with a flag, and the one before it ends
// with a backslash.
func Wrap(words []string, width int) string {
	var lines []string
	line := ""
	for i := 0; i < len(words); {
		group := Quote(words[i])
		for i++; i < len(words) && !strings.HasPrefix(words[i], "-"); i++ {
			group += " " + Quote(words[i])
		}
		switch {
		case line == "":
			line = group
		case len(line)+len(group)+3 > width: // a space before, and one with the backslash
			lines = append(lines, line+" \\")
			line = "  " + group
		default:
			line += " " + group
		}
	}
	return strings.Join(append(lines, line), "\n")
}
