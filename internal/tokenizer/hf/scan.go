package hf

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The patterns that nearly all byte-level tokenizers have, as tokenizer.json files
// spell them: GPT-2's, and the one that OpenAI's cl100k brought and Llama 3 and
// Qwen took over.
const (
	contractions = `'s|'t|'re|'ve|'m|'ll|'d`
	gpt2         = contractions + `| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|` + rest
	llama3       = `(?i:` + contractions + `)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}` + cl100kEnd
	qwen2        = `(?i:` + contractions + `)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}` + cl100kEnd
	eachNumber   = `\p{N}`
	cl100kEnd    = `| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|` + rest
)

// scanners find the first match in a text, which is not empty; a size of 0 says
// that there is none. Scanning these patterns by hand is several times faster than
// by a regular expression.
var scanners = map[string]func(text string) (from, size int){
	gpt2:       func(text string) (int, int) { return 0, scanGPT2(text) },
	llama3:     func(text string) (int, int) { return 0, scanCL100K(text, 3) },
	qwen2:      func(text string) (int, int) { return 0, scanCL100K(text, 1) },
	eachNumber: scanNumber,
}

// scanNumber finds the first character that is a number.
func scanNumber(text string) (from, size int) {
	for from < len(text) {
		class, size := classify(text[from:])
		if class == number {
			return from, size
		}
		from += size
	}
	return from, 0
}

// scanGPT2 and scanCL100K return how long the match is that text begins with: these
// patterns match everywhere.
func scanGPT2(text string) int {
	if n := contraction(text); n > 0 && text[1] >= 'a' && text[n-1] >= 'a' && text[n-1] < utf8.RuneSelf {
		return n
	}
	at := 0
	if text[0] == ' ' {
		at = 1
	}
	if at < len(text) {
		if class, _ := classify(text[at:]); class != space {
			return at + run(text[at:], class, len(text))
		}
	}
	return scanSpace(text, run(text, space, len(text)))
}

// scanCL100K takes at most so many digits for one piece.
func scanCL100K(text string, digits int) int {
	if n := contraction(text); n > 0 {
		return n
	}
	class, size := classify(text)
	switch {
	case class == letter:
		return run(text, letter, len(text))
	case class == number:
		return run(text, number, digits)
	case text[0] != '\r' && text[0] != '\n' && size < len(text):
		if next, _ := classify(text[size:]); next == letter {
			return size + run(text[size:], letter, len(text))
		}
	}
	at := 0
	if text[0] == ' ' {
		at = 1
	}
	if n := run(text[at:], other, len(text)); n > 0 {
		end := at + n
		for end < len(text) && (text[end] == '\r' || text[end] == '\n') {
			end++
		}
		return end
	}
	end := run(text, space, len(text))
	if line := strings.LastIndexAny(text[:end], "\r\n"); line >= 0 {
		return line + 1
	}
	return scanSpace(text, end)
}

// scanSpace ends white space before its last character where other text follows.
func scanSpace(text string, end int) int {
	if end < len(text) {
		return giveBack(text, 0, end)
	}
	return end
}

// contraction is how long the ending of an English word is that text begins with,
// in capitals or not; 0 where there is none. The long s is an s in capitals, too.
func contraction(text string) int {
	if len(text) < 2 || text[0] != '\'' {
		return 0
	}
	switch text[1] | 0x20 {
	case 's', 't', 'm', 'd':
		if text[1] >= 'A' {
			return 2
		}
	case 'r', 'v':
		if len(text) > 2 && text[1] >= 'A' && text[2]|0x20 == 'e' && text[2] >= 'A' {
			return 3
		}
	case 'l':
		if len(text) > 2 && text[1] >= 'A' && text[2]|0x20 == 'l' && text[2] >= 'A' {
			return 3
		}
	}
	if strings.HasPrefix(text[1:], "ſ") {
		return len("'ſ")
	}
	return 0
}

// class is what the patterns tell apart.
type class uint8

const (
	other class = iota
	letter
	number
	space
)

// classes are those of ASCII.
var classes = func() (table [utf8.RuneSelf]class) {
	for i := range table {
		table[i] = classOf(rune(i))
	}
	return table
}()

func classOf(r rune) class {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	default:
		return other
	}
}

// classify returns the class and size of the first character of a text. A byte
// that is no UTF-8 is something else.
func classify(text string) (class, int) {
	if text[0] < utf8.RuneSelf {
		return classes[text[0]], 1
	}
	r, size := utf8.DecodeRuneInString(text)
	return classOf(r), size
}

// run is how many bytes the characters of a class take that text begins with, of
// at most so many characters.
func run(text string, of class, most int) (end int) {
	for ; end < len(text) && most > 0; most-- {
		class, size := classify(text[end:])
		if class != of {
			break
		}
		end += size
	}
	return end
}
