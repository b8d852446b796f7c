package check

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// PatternWindow is how much of a stream, in bytes, is held back for a pattern
// whose matches may be of any length. A longer match is found all the same when
// its last part comes, but what came before is out.
const PatternWindow = 256

// Pattern finds a regular expression in a text, in time linear in the text (RE2).
type Pattern struct {
	whole                *regexp.Regexp // in a whole text
	inner, first, middle *regexp.Regexp // with a character before, after, and on both sides

	runes   int  // longest match, in characters; 0 when there is no bound
	looksOn bool // whether a match ends may depend on what follows
}

// NewPattern returns a matcher for a regular expression. For streams, a pattern
// may not be tied to the beginning of the text: a window has forgotten it.
func NewPattern(pattern string, streams bool) (*Pattern, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("reading the pattern: %w", err)
	}
	p := &Pattern{runes: longest(parsed), looksOn: contains(parsed, syntax.OpEndText, syntax.OpEndLine, syntax.OpWordBoundary, syntax.OpNoWordBoundary)}
	if streams && contains(parsed, syntax.OpBeginText) {
		return nil, errors.New(`a pattern for output may not begin with ^ or \A: streams are looked at in a window`)
	}
	for _, v := range []struct {
		to   **regexp.Regexp
		text string
	}{
		{&p.whole, pattern}, {&p.inner, `(?s:.)(?:` + pattern + `)`}, {&p.first, `(?:` + pattern + `)(?s:.)`}, {&p.middle, `(?s:.)(?:` + pattern + `)(?s:.)`},
	} {
		if *v.to, err = regexp.Compile(v.text); err != nil {
			return nil, fmt.Errorf("reading the pattern: %w", err)
		}
	}
	if p.whole.MatchString("") {
		return nil, errors.New("the pattern matches the empty text, and so every text")
	}
	return p, nil
}

// contains tells whether an operator occurs in an expression.
func contains(re *syntax.Regexp, ops ...syntax.Op) bool {
	for _, op := range ops {
		if re.Op == op {
			return true
		}
	}
	for _, sub := range re.Sub {
		if contains(sub, ops...) {
			return true
		}
	}
	return false
}

// longest is the most characters that an expression can match; 0 when there is
// no bound, or none below PatternWindow.
func longest(re *syntax.Regexp) int {
	n, bounded := extent(re)
	if !bounded || n > PatternWindow {
		return 0
	}
	return n
}

func extent(re *syntax.Regexp) (n int, bounded bool) {
	times := 1
	switch re.Op {
	case syntax.OpLiteral:
		return len(re.Rune), true
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return 1, true
	case syntax.OpStar, syntax.OpPlus:
		return 0, false
	case syntax.OpRepeat:
		if re.Max < 0 {
			return 0, false
		}
		times = re.Max
	}
	for _, sub := range re.Sub {
		m, ok := extent(sub)
		if !ok {
			return 0, false
		}
		if re.Op == syntax.OpAlternate {
			n = max(n, m)
		} else {
			n += m
		}
	}
	return n * times, true
}

// Match implements Matcher.
func (p *Pattern) Match(text string) bool { return p.whole.MatchString(text) }

// Window implements Matcher. It holds back as much as the longest match, or
// PatternWindow.
func (p *Pattern) Window() Window { return &patternWindow{pattern: p} }

type patternWindow struct {
	pattern *Pattern
	text    []byte // the end of what was read, with one character before it when base > 0
	base    int    // offset of text
}

// Push implements Window.
func (w *patternWindow) Push(piece string) (matched bool, safe int) {
	w.text = append(w.text, piece...)
	p := w.pattern
	re := p.whole
	switch {
	case w.base > 0 && p.looksOn:
		re = p.middle
	case w.base > 0:
		re = p.inner
	case p.looksOn:
		re = p.first
	}
	if re.Match(w.text) {
		return true, w.base
	}
	at := len(w.text) - w.held()
	if at <= 0 {
		return false, w.base
	}
	safe = w.base + at
	_, before := utf8.DecodeLastRune(w.text[:at])
	w.text = w.text[:copy(w.text, w.text[at-before:])]
	w.base = safe - before
	return false, safe
}

// held is how many bytes at the end of the text a match to come may touch.
func (w *patternWindow) held() int {
	if w.pattern.runes == 0 {
		n := min(PatternWindow, len(w.text))
		for n < len(w.text) && !utf8.RuneStart(w.text[len(w.text)-n]) {
			n++
		}
		return n
	}
	runes := w.pattern.runes - 1
	if w.pattern.looksOn {
		runes++
	}
	n := 0
	for range runes {
		_, size := utf8.DecodeLastRune(w.text[:len(w.text)-n])
		n += size
	}
	return n
}

// End implements Window.
func (w *patternWindow) End() (matched bool) {
	if w.base > 0 {
		return w.pattern.inner.Match(w.text)
	}
	return w.pattern.whole.Match(w.text)
}
