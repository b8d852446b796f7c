package hf

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// addedToken is a token that is found in a text before all else.
type addedToken struct {
	ID         *int32 `json:"id"`
	Content    string `json:"content"`
	SingleWord bool   `json:"single_word"` // not inside of a word
	LStrip     bool   `json:"lstrip"`      // takes the white space before it
	RStrip     bool   `json:"rstrip"`      // and after it
	Normalized *bool  `json:"normalized"`  // is looked for after normalizing
	Special    bool   `json:"special"`
	find       string // what is looked for
}

// addedTokens are found by their first byte; of those that begin alike the
// longest one counts.
type addedTokens [256][]addedToken

func (a *addedTokens) add(token addedToken) {
	if token.find != "" {
		a[token.find[0]] = append(a[token.find[0]], token)
	}
}

// sort makes the tokens ready.
func (a *addedTokens) sort() {
	for i := range a {
		slices.SortStableFunc(a[i], func(x, y addedToken) int { return cmp.Compare(len(y.find), len(x.find)) })
	}
}

// parts yields the added tokens of a text and what stands between them, in
// order and never empty; token is nil for the latter. Without special, special
// tokens are text like any other.
func (a *addedTokens) parts(text string, special bool, yield func(from, to int, token *addedToken)) {
	start := 0
	for at := 0; at < len(text); {
		token := a.at(text, at, special)
		if token == nil {
			at++
			continue
		}
		from, to := at, at+len(token.find)
		if token.LStrip {
			from = start + len(strings.TrimRightFunc(text[start:at], unicode.IsSpace))
		}
		if token.RStrip {
			to = len(text) - len(strings.TrimLeftFunc(text[to:], unicode.IsSpace))
		}
		if start < from {
			yield(start, from, nil)
		}
		yield(from, to, token)
		at, start = to, to
	}
	if start < len(text) {
		yield(start, len(text), nil)
	}
}

// at finds the added token that stands at a place of a text.
func (a *addedTokens) at(text string, at int, special bool) *addedToken {
	list := a[text[at]]
	for i := range list {
		token := &list[i]
		if !strings.HasPrefix(text[at:], token.find) || token.Special && !special {
			continue
		}
		if token.SingleWord {
			before, _ := utf8.DecodeLastRuneInString(text[:at])
			after, _ := utf8.DecodeRuneInString(text[at+len(token.find):])
			if inWord(before) || inWord(after) {
				continue
			}
		}
		return token
	}
	return nil
}

// inWord says whether \w matches in Unicode's sense. It does not match the
// replacement character that decoding nothing gives.
func inWord(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.Is(unicode.Nd, r) || unicode.Is(unicode.Nl, r) || unicode.Is(unicode.Pc, r)
}
