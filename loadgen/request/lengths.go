package request

import (
	"fmt"
	"math"
	"sync"

	"github.com/llmctl/llmctl/internal/optional"
	"github.com/llmctl/llmctl/internal/tokenizer"
)

// Source says how lengths are known.
type Source string

// The sources, the most exact first.
const (
	FromFile   Source = "tokenizer.json"  // a tokenizer that the user gave
	FromServer Source = "/tokenize"       // the server's own tokenizer
	FromUsage  Source = "usage"           // the server's usage.prompt_tokens
	FromWords  Source = "number of words" // nothing is known of the target
)

// shape is what a prompt has besides its texts, each of which costs tokens.
type shape struct{ system, tools, schema bool }

// Lengths says how many tokens of the target a text is. The zero Lengths takes
// a word for a token and knows nothing of chat templates.
type Lengths struct {
	Source   Source // FromWords when empty
	Requests int    // requests that it took to find out
	// Checked and Counted are the tokens asked for and counted by the server of
	// a request that was sent to see whether they agree; absent where none was.
	Checked, Counted optional.Count
	// Refuted is a source that the server's usage contradicted, so that another
	// was taken; empty where none was.
	Refuted Source

	words    []string          // what texts are made of; empty is those of standardWords
	perWord  float64           // tokens of a word with the space before it; 0 is 1
	overhead map[shape]float64 // tokens of a prompt beyond perWord for each word of its texts
	later    float64           // the same of what a later turn adds
}

// poolSize is how many words texts are made of. Sixteen words of them, a block
// of a prefix cache, are one of 10³³ sequences.
const poolSize = 128

// standardWords are the commonest words of the built-in list, which are the
// most likely to be one token each.
var standardWords = sync.OnceValue(func() []string { return allWords()[:poolSize] })

// evenSize is how many words texts are made of whose words cost more than a
// token: few, since a text that ends inside its list is off by what the words
// that are left cost more or less than others.
const evenSize = 32

// evenWords are words of four letters, which cost about the same in any
// vocabulary.
var evenWords = sync.OnceValue(func() (words []string) {
	for _, word := range allWords() {
		if len(word) == 4 && len(words) < evenSize {
			words = append(words, word)
		}
	}
	return words
})

var allWords = sync.OnceValue(tokenizer.Words)

// PerWord is how many tokens a word is on average.
func (l *Lengths) PerWord() float64 {
	if l.perWord == 0 {
		return 1
	}
	return l.perWord
}

// Overhead is how many tokens a request has beyond those of its words, a chat
// template's for instance: of the plainest request whose overhead is known.
func (l *Lengths) Overhead() float64 {
	least := math.Inf(1)
	for _, tokens := range l.overhead {
		least = min(least, tokens)
	}
	if math.IsInf(least, 1) {
		return 0
	}
	return least
}

// String says how the lengths are known, in a line for people.
func (l *Lengths) String() string {
	if l.Source == "" || l.Source == FromWords {
		return "a word is taken for a token"
	}
	return fmt.Sprintf("calibrated by %s with %d requests: %.4g tokens per word, %+.4g per request", l.Source, l.Requests, l.PerWord(), l.Overhead())
}

// Off is how far the checked request was from the tokens asked for, as a share
// of them; ok is false where none was checked.
func (l *Lengths) Off() (share float64, ok bool) {
	asked, ok := l.Checked.Value()
	got, _ := l.Counted.Value()
	if !ok || asked == 0 {
		return 0, false
	}
	return float64(got)/float64(asked) - 1, true
}

func (l *Lengths) pool() []string {
	if len(l.words) == 0 {
		return standardWords()
	}
	return l.words
}

// count is the number of words that are closest to a number of tokens, at
// least 1.
func (l *Lengths) count(tokens float64) int {
	return max(1, int(math.Round(tokens/l.PerWord())))
}

// split divides the tokens of a first turn among the words of its texts: of the
// shared prefix and of the rest. What the template adds is taken from the
// prefix, since it is the same for all, and from the rest where there is none.
func (l *Lengths) split(input, prefix int, s shape) (system, user int) {
	if prefix == 0 {
		return 0, l.count(float64(input) - l.overhead[s])
	}
	s.system = true
	added := l.overhead[s]
	system = l.count(float64(prefix) - added)
	return system, max(1, l.count(float64(input)-added)-system)
}
