package check

import (
	"errors"
	"strings"
	"unicode"
)

// Keywords finds words and phrases in a text, whatever their case. A word counts
// only as a whole: "ass" is not in "class". Where words are written without
// spaces between them (Chinese, Japanese, Thai, Lao, Khmer), any place counts.
// Characters are compared one by one under Unicode's simple case folding; any
// white space equals a space.
type Keywords struct {
	root *node
}

// node is a state of the search: a piece of some keywords was seen.
type node struct {
	next map[rune]*node
	end  bool // a keyword is complete
}

// NewKeywords returns a matcher for the words.
func NewKeywords(words []string) (*Keywords, error) {
	if len(words) == 0 {
		return nil, errors.New("expected at least one word")
	}
	k := &Keywords{root: &node{}}
	for _, w := range words {
		w = strings.TrimSpace(w)
		if w == "" {
			return nil, errors.New("an empty word would match every text")
		}
		at := k.root
		for _, r := range w {
			if at.next == nil {
				at.next = map[rune]*node{}
			}
			f := fold(r)
			if at.next[f] == nil {
				at.next[f] = &node{}
			}
			at = at.next[f]
		}
		at.end = true
	}
	return k, nil
}

// fold maps the characters that differ in case alone to one of them.
func fold(r rune) rune {
	if r < 0x80 {
		switch {
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		case r >= '\t' && r <= '\r':
			return ' '
		}
		return r
	}
	if unicode.IsSpace(r) {
		return ' '
	}
	least := r
	for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
		least = min(least, f)
	}
	if least < 0x80 { // such as the sign for kelvin
		return unicode.ToLower(least)
	}
	return least
}

// joins tells whether a character is part of a word that needs an edge.
func joins(r rune) bool {
	if r < 0x80 {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_'
	}
	return (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)) &&
		!unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

// Match implements Matcher.
func (k *Keywords) Match(text string) bool {
	w := k.Window()
	matched, _ := w.Push(text)
	return matched || w.End()
}

// Window implements Matcher. It holds back only what may be the beginning of a
// keyword, so at most the longest of them.
func (k *Keywords) Window() Window { return &keywordWindow{root: k.root} }

type keywordWindow struct {
	root    *node
	threads []thread
	prev    rune // 0 at the start
	read    int  // bytes
}

// thread is one way in which the text may be on a keyword.
type thread struct {
	at    *node
	start int
}

// Push implements Window.
func (w *keywordWindow) Push(piece string) (matched bool, safe int) {
	for i, r := range piece {
		if w.step(r, w.read+i) {
			return true, w.safe()
		}
	}
	w.read += len(piece)
	return false, w.safe()
}

// step takes in one character.
func (w *keywordWindow) step(r rune, at int) (matched bool) {
	edge := !joins(w.prev) || !joins(r)
	f := fold(r)
	kept := w.threads[:0]
	for _, t := range w.threads {
		if t.at.end && edge {
			return true
		}
		if next := t.at.next[f]; next != nil {
			kept = append(kept, thread{at: next, start: t.start})
		}
	}
	if first := w.root.next[f]; first != nil && edge {
		kept = append(kept, thread{at: first, start: at})
	}
	w.threads, w.prev = kept, r
	if joins(r) {
		return false // whether a keyword ends here, the next character says
	}
	for _, t := range kept {
		if t.at.end {
			return true
		}
	}
	return false
}

func (w *keywordWindow) safe() int {
	if len(w.threads) > 0 {
		return w.threads[0].start // the oldest comes first
	}
	return w.read
}

// End implements Window.
func (w *keywordWindow) End() (matched bool) {
	for _, t := range w.threads {
		matched = matched || t.at.end
	}
	return matched
}
