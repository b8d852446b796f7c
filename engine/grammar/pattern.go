package grammar

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode"
)

// parsePattern reads a regular expression. The dialect is what ECMA-262, which JSON
// Schema names, and RE2 have in common, in RE2's reading: no references back and no
// looking around. Where search is set it may match anywhere within the text, as
// JSON Schema has it, and ^ and $ hold it to the ends; otherwise it is the whole text.
func parsePattern(pattern string, search bool) (s *shape, err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			s, err = nil, f.err
		default:
			panic(f)
		}
	}()
	if len(pattern) > maxText {
		return nil, fmt.Errorf("pattern is too large: %d bytes, at most %d", len(pattern), maxText)
	}
	re, err := syntax.Parse(translated(pattern), syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("parsing pattern %q: %w", pattern, err)
	}
	p := &patternWriter{shape: newShape(), pattern: pattern, search: search}
	p.ends(first, last, re, true, true)
	return p.shape, nil
}

// ecmaEscape is any escape, and what ECMA-262 alone knows of them: \uHHHH and \u{H…}.
var ecmaEscape = regexp.MustCompile(`\\(?:u([0-9A-Fa-f]{4})|u\{([0-9A-Fa-f]{1,6})\}|[^u])`)

// translated is a pattern with ECMA-262's escapes of code points as RE2 writes them.
func translated(pattern string) string {
	return ecmaEscape.ReplaceAllStringFunc(pattern, func(escape string) string {
		if escape[1] != 'u' {
			return escape
		}
		return `\x{` + strings.Trim(escape[2:], "{}") + `}`
	})
}

type patternWriter struct {
	*shape
	pattern string
	search  bool
}

// ends writes an expression that stands at the beginning of the pattern, at its end,
// or both: there anchors make sense, and in a search, the lack of one is a gap.
func (p *patternWriter) ends(from, to int32, re *syntax.Regexp, begin, end bool) {
	switch re.Op {
	case syntax.OpCapture:
		p.ends(from, to, re.Sub[0], begin, end)
		return
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			p.ends(from, to, sub, begin, end)
		}
		return
	}
	parts := []*syntax.Regexp{re}
	if re.Op == syntax.OpConcat {
		parts = re.Sub
	}
	for begin && len(parts) > 0 && parts[0].Op == syntax.OpBeginText {
		parts, begin = parts[1:], false
	}
	for end && len(parts) > 0 && parts[len(parts)-1].Op == syntax.OpEndText {
		parts, end = parts[:len(parts)-1], false
	}
	// A group that is the first or the last part may have anchors within it; it gets
	// its gap there.
	for i, part := range parts {
		b, e := begin && i == 0, end && i == len(parts)-1
		next := to
		if i < len(parts)-1 {
			next = p.state()
		}
		inner := uncaptured(part)
		if (inner.Op == syntax.OpAlternate || inner.Op == syntax.OpConcat) && (b || e) {
			p.ends(from, next, inner, b, e)
		} else {
			p.gapped(from, next, part, b, e)
		}
		from = next
	}
	if len(parts) == 0 {
		p.gapped(from, to, &syntax.Regexp{Op: syntax.OpEmptyMatch}, begin, end)
	}
}

func uncaptured(re *syntax.Regexp) *syntax.Regexp {
	for re.Op == syntax.OpCapture {
		re = re.Sub[0]
	}
	return re
}

func (p *patternWriter) gapped(from, to int32, re *syntax.Regexp, before, after bool) {
	gap := func(from int32) int32 {
		at := p.state()
		p.add(from, at, nil)
		p.add(at, at, anyRune)
		return at
	}
	if before && p.search {
		from = gap(from)
	}
	at := p.state()
	p.one(from, at, re)
	if after && p.search {
		at = gap(at)
	}
	p.add(at, to, nil)
}

// one writes an expression that stands within the pattern.
func (p *patternWriter) one(from, to int32, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpNoMatch:
	case syntax.OpEmptyMatch:
		p.add(from, to, nil)
	case syntax.OpLiteral:
		for i, r := range re.Rune {
			next := to
			if i < len(re.Rune)-1 {
				next = p.state()
			}
			p.add(from, next, literal(r, re.Flags&syntax.FoldCase != 0))
			from = next
		}
	case syntax.OpCharClass:
		var c class
		for i := 0; i < len(re.Rune); i += 2 {
			c = append(c, span{re.Rune[i], re.Rune[i+1]})
		}
		if c = overlap(c, anyRune); len(c) > 0 {
			p.add(from, to, c)
		}
	case syntax.OpAnyChar:
		p.add(from, to, anyRune)
	case syntax.OpAnyCharNotNL:
		p.add(from, to, without(anyRune, '\n', '\r', '\u2028', '\u2029'))
	case syntax.OpCapture:
		p.one(from, to, re.Sub[0])
	case syntax.OpStar:
		p.repeat(from, to, re.Sub[0], 0, -1)
	case syntax.OpPlus:
		p.repeat(from, to, re.Sub[0], 1, -1)
	case syntax.OpQuest:
		p.repeat(from, to, re.Sub[0], 0, 1)
	case syntax.OpRepeat:
		p.repeat(from, to, re.Sub[0], re.Min, re.Max)
	case syntax.OpConcat:
		for i, sub := range re.Sub {
			next := to
			if i < len(re.Sub)-1 {
				next = p.state()
			}
			p.one(from, next, sub)
			from = next
		}
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			p.one(from, to, sub)
		}
	default:
		fail("pattern %q: %s is not supported where it stands: use ^ at the beginning and $ at the end only, and no \\b", p.pattern, re)
	}
}

// repeat writes least … most copies of an expression; most < 0: no bound.
func (p *patternWriter) repeat(from, to int32, re *syntax.Regexp, least, most int) {
	for range least {
		next := p.state()
		p.one(from, next, re)
		from = next
	}
	if most < 0 {
		loop := p.state()
		p.add(from, loop, nil)
		p.one(loop, loop, re)
		p.add(loop, to, nil)
		return
	}
	p.add(from, to, nil)
	for range most - least {
		next := p.state()
		p.one(from, next, re)
		p.add(next, to, nil)
		from = next
	}
}

// literal is the class of one code point, with its other cases where fold is set.
func literal(r rune, fold bool) class {
	runes := []rune{r}
	for f := unicode.SimpleFold(r); fold && f != r; f = unicode.SimpleFold(f) {
		runes = append(runes, f)
	}
	slices.Sort(runes)
	var c class
	for _, r := range runes {
		c = append(c, span{r, r})
	}
	return c
}
