package hf

import (
	"cmp"
	"slices"
	"strings"
)

// addedToken is a token that is found in a text before all else.
type addedToken struct {
	Content string `json:"content"`
}

// addedTokens are found by their first byte; of those that begin alike the
// longest one counts.
type addedTokens [256][]string

func newAddedTokens(list []addedToken) (a addedTokens) {
	for _, token := range list {
		if token.Content != "" {
			a[token.Content[0]] = append(a[token.Content[0]], token.Content)
		}
	}
	for i := range a {
		slices.SortFunc(a[i], func(x, y string) int { return cmp.Compare(len(y), len(x)) })
	}
	return a
}

// parts yields the added tokens of a text and what stands between them, in
// order and never empty.
func (a *addedTokens) parts(text string, yield func(part string, added bool)) {
	start := 0
	for at := 0; at < len(text); {
		token := a.at(text[at:])
		if token == "" {
			at++
			continue
		}
		if start < at {
			yield(text[start:at], false)
		}
		yield(token, true)
		at += len(token)
		start = at
	}
	if start < len(text) {
		yield(text[start:], false)
	}
}

func (a *addedTokens) at(text string) string {
	for _, token := range a[text[0]] {
		if strings.HasPrefix(text, token) {
			return token
		}
	}
	return ""
}
