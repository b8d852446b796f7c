package request

import (
	"math"
	"sync"

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
	Requests int    // requests for tokens that it took to find out

	words    []string      // what texts are made of; empty is those of standardWords
	perWord  float64       // tokens of a word with the space before it; 0 is 1
	overhead map[shape]int // tokens of a prompt beyond perWord for each word of its texts
	later    int           // the same of the message that a later turn adds
}

// poolSize is how many words texts are made of. Sixteen words of them, a block
// of a prefix cache, are one of 10³³ sequences.
const poolSize = 128

// standardWords are the commonest words of the built-in list, which are the
// most likely to be one token each.
var standardWords = sync.OnceValue(func() []string { return tokenizer.Words()[:poolSize] })

// PerWord is how many tokens a word is on average.
func (l *Lengths) PerWord() float64 {
	if l.perWord == 0 {
		return 1
	}
	return l.perWord
}

// Overhead is how many tokens a plain request has beyond those of its words: a
// chat template's.
func (l *Lengths) Overhead() int { return l.overhead[shape{}] }

func (l *Lengths) pool() []string {
	if len(l.words) == 0 {
		return standardWords()
	}
	return l.words
}

// count is the number of words that are closest to a number of tokens, at
// least 1.
func (l *Lengths) count(tokens int) int {
	return max(1, int(math.Round(float64(tokens)/l.PerWord())))
}

// split divides the tokens of a first turn among the words of its texts: of the
// shared prefix and of the rest. What the template adds is taken from the
// prefix, since it is the same for all, and from the rest where there is none.
func (l *Lengths) split(input, prefix int, s shape) (system, user int) {
	if prefix == 0 {
		return 0, l.count(input - l.overhead[s])
	}
	s.system = true
	added := l.overhead[s]
	system = l.count(prefix - added)
	return system, max(1, l.count(input-added)-system)
}
