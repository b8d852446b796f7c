package hf

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/llmctl/llmctl/internal/userfile"
)

// patternJSON is {"Regex": …} or {"String": …}.
type patternJSON struct {
	Regex  *string
	String *string
}

// UnmarshalJSON implements json.Unmarshaler. Old files have the text alone.
func (p *patternJSON) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		p.String = &text
		return nil
	}
	type plain patternJSON
	if err := json.Unmarshal(data, (*plain)(p)); err != nil {
		return fmt.Errorf("pattern: %w", userfile.JSONError(err))
	}
	return nil
}

// pattern finds the parts of a text that a tokenizer's pattern matches.
type pattern struct {
	*regexp.Regexp
	literal string                             // instead of the regular expression: the text to find
	scan    func(text string) (from, size int) // or what finds it, for the commonest patterns
	spaces  int                                // the group that white space matches which ends before more text does; 0 where there is none
}

// rest is how the patterns of today's tokenizers end: white space, but for the
// last character of it before other text. Go's regular expressions do not look
// ahead, so that the last character is given back afterwards.
const rest = `\s+(?!\S)|\s+`

// compile translates a pattern from the dialect of Oniguruma.
func (p *patternJSON) compile() (pattern, error) {
	switch {
	case p.String != nil:
		if *p.String == "" {
			return pattern{}, fmt.Errorf("pattern String is empty")
		}
		return pattern{literal: *p.String}, nil
	case p.Regex == nil:
		return pattern{}, fmt.Errorf("pattern is neither Regex nor String")
	}
	text := *p.Regex
	if scan, ok := scanners[text]; ok {
		return pattern{scan: scan}, nil
	}
	if strings.Count(text, rest) == 1 {
		text = strings.Replace(text, rest, `(?P<rest>\s+)`, 1)
	}
	out, err := compileGo(text)
	if err != nil {
		return pattern{}, fmt.Errorf("pattern %q is not supported: %w", *p.Regex, err)
	}
	return out, nil
}

// compileGo compiles a pattern that does not look ahead. White space of which the
// last character may have to be given back is the group called rest.
func compileGo(text string) (pattern, error) {
	text, err := translate(text)
	if err != nil {
		return pattern{}, err
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, err
	}
	return pattern{Regexp: re, spaces: max(0, re.SubexpIndex("rest"))}, nil
}

// white is Unicode's white space, which \s means in Oniguruma.
const white = `\t\n\v\f\r \x{85}\p{Z}`

// translate replaces what means something else in Go: classes of white space,
// and quantifiers that do not give back, which changes nothing where what
// follows can not match what they took. Escapes whose meaning differs and can
// not be said are errors.
func translate(text string) (string, error) {
	var b strings.Builder
	class := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text):
			i++
			switch {
			case text[i] == 's' && class:
				b.WriteString(white)
			case text[i] == 's':
				b.WriteString("[" + white + "]")
			case text[i] == 'S' && !class:
				b.WriteString("[^" + white + "]")
			case text[i] == 'd':
				b.WriteString(`\p{Nd}`)
			case isLetter(text[i]) && strings.IndexByte("pPnrtvfx", text[i]) < 0:
				return "", fmt.Errorf(`\%c`, text[i])
			default:
				b.WriteByte(c)
				b.WriteByte(text[i])
			}
			continue
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '+' && !class && i > 0 && strings.IndexByte("?+*", text[i-1]) >= 0 && (i < 2 || text[i-2] != '\\'):
			continue // possessive
		}
		b.WriteByte(c)
	}
	return b.String(), nil
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// isolate appends the matches in a piece and what stands between them.
func (p *pattern) isolate(pieces []string, piece string) []string {
	end := 0
	p.matches(piece, func(from, to int) {
		if end < from {
			pieces = append(pieces, piece[end:from])
		}
		pieces = append(pieces, piece[from:to])
		end = to
	})
	if end < len(piece) {
		pieces = append(pieces, piece[end:])
	}
	return pieces
}

// replace writes content in place of each match.
func (p *pattern) replace(text, content string) string {
	if p.literal != "" {
		return strings.ReplaceAll(text, p.literal, content)
	}
	var b strings.Builder
	end := 0
	p.matches(text, func(from, to int) {
		b.WriteString(text[end:from])
		b.WriteString(content)
		end = to
	})
	if end == 0 {
		return text
	}
	b.WriteString(text[end:])
	return b.String()
}

// matches yields where the pattern matches, in order and without overlap.
func (p *pattern) matches(text string, yield func(from, to int)) {
	for at := 0; at < len(text); {
		from, to, ok := p.next(text, at)
		if !ok || from == to { // patterns that match nothing split nothing
			return
		}
		yield(from, to)
		at = to
	}
}

// next is the first match from a place on.
func (p *pattern) next(text string, at int) (from, to int, ok bool) {
	switch {
	case p.literal != "":
		i := strings.Index(text[at:], p.literal)
		return at + i, at + i + len(p.literal), i >= 0
	case p.scan != nil:
		from, size := p.scan(text[at:])
		return at + from, at + from + size, true
	}
	m := p.find(text[at:])
	if m == nil {
		return 0, 0, false
	}
	from, to = at+m[0], at+m[1]
	if p.spaces > 0 && m[2*p.spaces] >= 0 && to < len(text) {
		to = giveBack(text, from, to)
	}
	return from, to, true
}

// window is how much of a text is searched at first, in bytes: Go matches short
// texts several times faster than long ones, and most pieces are words.
const window = 96

// find returns the first match. One that ends where the window does may be
// longer in the text.
func (p *pattern) find(text string) []int {
	if len(text) > window {
		if m := p.FindStringSubmatchIndex(text[:window]); m != nil && m[1] < window-utf8.UTFMax {
			return m
		}
	}
	return p.FindStringSubmatchIndex(text)
}

// giveBack leaves the last character of white space to the text after it,
// unless it is the only one.
func giveBack(text string, from, to int) int {
	last := to - 1
	for last > from && text[last]&0xC0 == 0x80 {
		last--
	}
	if last == from {
		return to
	}
	return last
}
