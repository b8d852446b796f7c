package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind int

const (
	tokEOF kind = iota
	tokData
	tokVarBegin
	tokVarEnd
	tokBlockBegin
	tokBlockEnd
	tokName
	tokString
	tokInt
	tokFloat
	tokOp
)

// token is a word of a template: text as written, except of strings their value.
type token struct {
	kind kind
	text string
	line int
}

// failure is the panic by which the package gives up.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

type lexer struct {
	src       string
	at        int
	line      int  // of src[:counted]
	counted   int  // bytes whose newlines are in line
	lineStart bool // only a newline stands before at
	out       []token
}

// lex cuts a template into tokens, with white space control applied: the rules are
// those of jinja2's Lexer.tokeniter with trim_blocks and lstrip_blocks.
func lex(source string) []token {
	source = strings.ReplaceAll(strings.ReplaceAll(source, "\r\n", "\n"), "\r", "\n")
	l := &lexer{src: strings.TrimSuffix(source, "\n"), line: 1, lineStart: true}
	for l.at < len(l.src) {
		l.next()
	}
	l.emit(tokEOF, "")
	return l.out
}

func (l *lexer) emit(k kind, text string) {
	l.line += strings.Count(l.src[l.counted:l.at], "\n")
	l.counted = l.at
	l.out = append(l.out, token{k, text, l.line})
}

func (l *lexer) fail(format string, args ...any) {
	l.emit(tokEOF, "")
	fail("line %d: %s", l.line, fmt.Sprintf(format, args...))
}

// opening finds the next tag.
func opening(s string) int {
	for i := 0; i+1 < len(s); i++ {
		if s[i] == '{' && (s[i+1] == '{' || s[i+1] == '%' || s[i+1] == '#') {
			return i
		}
	}
	return -1
}

// next takes the text up to a tag, and the tag.
func (l *lexer) next() {
	i := opening(l.src[l.at:])
	if i < 0 {
		l.data(l.src[l.at:])
		l.at = len(l.src)
		return
	}
	text, tag := l.src[l.at:l.at+i], l.src[l.at+i+1]
	sign := byte(0)
	if after := l.at + i + 2; after < len(l.src) && (l.src[after] == '-' || l.src[after] == '+') {
		sign = l.src[after]
	}
	text = l.stripBefore(text, tag, sign)
	l.data(text)
	l.at += i + 2
	if sign != 0 {
		l.at++
	}
	switch {
	case tag == '#':
		l.comment()
	case tag == '%' && l.raw():
	case tag == '%':
		l.emit(tokBlockBegin, "{%")
		l.expression("%}", tokBlockEnd)
	default:
		l.emit(tokVarBegin, "{{")
		l.expression("}}", tokVarEnd)
	}
}

func (l *lexer) data(text string) {
	if text != "" {
		l.emit(tokData, text)
	}
}

// stripBefore applies a tag's sign and lstrip_blocks to the text before it.
func (l *lexer) stripBefore(text string, tag, sign byte) string {
	if sign == '-' {
		return strings.TrimRightFunc(text, isSpace)
	}
	if sign == '+' || tag == '{' {
		return text
	}
	line := strings.LastIndexByte(text, '\n') + 1
	if (line > 0 || l.lineStart) && strings.TrimLeftFunc(text[line:], isSpace) == "" {
		return text[:line]
	}
	return text
}

// closeTag goes past a tag's end, given what stands before it ("-", "+" or ""), and
// past the white space that belongs to it.
func (l *lexer) closeTag(sign string, end string) {
	start := l.at
	l.at += len(sign) + len(end)
	rest := l.src[l.at:]
	switch {
	case sign == "-":
		l.at += len(rest) - len(strings.TrimLeftFunc(rest, isSpace))
	case sign == "" && end != "}}" && strings.HasPrefix(rest, "\n"):
		l.at++
	}
	l.lineStart = l.src[start:l.at] != "" && l.src[l.at-1] == '\n'
}

func (l *lexer) comment() {
	i := strings.Index(l.src[l.at:], "#}")
	if i < 0 {
		l.fail("comment without an end, expected #}")
	}
	l.at += i
	sign := ""
	if i > 0 && (l.src[l.at-1] == '-' || l.src[l.at-1] == '+') {
		l.at--
		sign = l.src[l.at : l.at+1]
	}
	l.closeTag(sign, "#}")
}

// raw takes a whole {% raw %} … {% endraw %}, whose beginning l.at stands in.
func (l *lexer) raw() bool {
	sign, size := word(l.src[l.at:], "raw")
	if size == 0 {
		return false
	}
	l.at += size
	if sign == "-" {
		l.at += len(l.src[l.at:]) - len(strings.TrimLeftFunc(l.src[l.at:], isSpace))
	}
	for from := l.at; ; {
		i := strings.Index(l.src[from:], "{%")
		if i < 0 {
			l.fail("raw block without an end, expected {%% endraw %%}")
		}
		from += i
		inner := from + 2
		open := byte(0)
		if inner < len(l.src) && (l.src[inner] == '-' || l.src[inner] == '+') {
			open = l.src[inner]
			inner++
		}
		if sign, size := word(l.src[inner:], "endraw"); size > 0 {
			l.data(l.stripBefore(l.src[l.at:from], '%', open))
			l.at = inner + size - len(sign) - 2
			l.closeTag(sign, "%}")
			return true
		}
		from += 2
	}
}

// word matches a name alone before the end of a block tag, and returns the sign and
// the size of it all.
func word(s, name string) (sign string, size int) {
	rest := strings.TrimLeftFunc(s, isSpace)
	if !strings.HasPrefix(rest, name) {
		return "", 0
	}
	rest = strings.TrimLeftFunc(rest[len(name):], isSpace)
	if rest != "" && (rest[0] == '-' || rest[0] == '+') {
		sign, rest = rest[:1], rest[1:]
	}
	if !strings.HasPrefix(rest, "%}") {
		return "", 0
	}
	return sign, len(s) - len(rest) + 2
}

var operators = []string{"**", "//", "==", "!=", "<=", ">=",
	"+", "-", "*", "/", "%", "~", "[", "]", "(", ")", "{", "}", "<", ">", "=", ".", ":", "|", ","}

// expression takes the tokens of a tag up to its end.
func (l *lexer) expression(end string, k kind) {
	open := 0 // brackets
	for {
		rest := l.src[l.at:]
		trimmed := strings.TrimLeftFunc(rest, isSpace)
		l.at += len(rest) - len(trimmed)
		rest = trimmed
		if rest == "" {
			l.fail("tag without an end, expected %s", end)
		}
		if open == 0 {
			for _, sign := range []string{"", "-", "+"} {
				if strings.HasPrefix(rest, sign+end) && (sign != "+" || end == "%}") {
					l.closeTag(sign, end)
					l.emit(k, end)
					return
				}
			}
		}
		open += l.word(rest)
	}
}

// word takes one token of an expression and returns by how much it opens brackets.
func (l *lexer) word(rest string) (opens int) {
	first, _ := utf8.DecodeRuneInString(rest)
	switch {
	case first == '\'' || first == '"':
		l.str(rest)
		return 0
	case first >= '0' && first <= '9':
		l.number(rest)
		return 0
	case first == '_' || unicode.IsLetter(first):
		name := rest[:len(rest)-len(strings.TrimLeftFunc(rest, func(r rune) bool {
			return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r)
		}))]
		l.emit(tokName, name)
		l.at += len(name)
		return 0
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			l.emit(tokOp, op)
			l.at += len(op)
			switch op {
			case "(", "[", "{":
				return 1
			case ")", "]", "}":
				return -1
			}
			return 0
		}
	}
	l.fail("unexpected character %q", first)
	return 0
}

func (l *lexer) number(rest string) {
	digits := func(s, set string) int {
		return len(s) - len(strings.TrimLeft(s, set))
	}
	if len(rest) > 2 && rest[0] == '0' && strings.ContainsRune("xXoObB", rune(rest[1])) {
		n := 2 + digits(rest[2:], "0123456789abcdefABCDEF_")
		l.emit(tokInt, rest[:n])
		l.at += n
		return
	}
	n, k := digits(rest, "0123456789_"), tokInt
	if n+1 < len(rest) && rest[n] == '.' && rest[n+1] >= '0' && rest[n+1] <= '9' {
		n, k = n+1+digits(rest[n+1:], "0123456789_"), tokFloat
	}
	if n < len(rest) && (rest[n] == 'e' || rest[n] == 'E') {
		sign := 0
		if n+1 < len(rest) && (rest[n+1] == '+' || rest[n+1] == '-') {
			sign = 1
		}
		if exp := digits(rest[n+1+sign:], "0123456789"); exp > 0 {
			n, k = n+1+sign+exp, tokFloat
		}
	}
	l.emit(k, rest[:n])
	l.at += n
}

// str takes a string literal, with Python's escapes.
func (l *lexer) str(rest string) {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			l.emit(tokString, unescape(rest[1:i]))
			l.at += i + 1
			return
		}
	}
	l.fail("string without an end, expected %c", rest[0])
}

var escapes = map[byte]string{'n': "\n", 't': "\t", 'r': "\r", 'b': "\b", 'f': "\f", 'v': "\v", 'a': "\a",
	'\\': "\\", '\'': "'", '"': `"`, '\n': ""}

var hexEscapes = map[byte]int{'x': 2, 'u': 4, 'U': 8}

func unescape(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if text, ok := escapes[s[i]]; ok {
			b.WriteString(text)
			continue
		}
		n := hexEscapes[s[i]]
		if code, err := strconv.ParseUint(s[i+1:min(len(s), i+1+n)], 16, 32); n > 0 && err == nil {
			b.WriteRune(rune(code))
			i += n
			continue
		}
		b.WriteByte('\\')
		b.WriteByte(s[i])
	}
	return b.String()
}
