package hf

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/llmctl/llmctl/internal/userfile"
)

// splitter appends the pieces of a piece. first says that nothing stands before
// it in the text.
type splitter func(pieces []string, piece string, first bool) []string

// splitters cut a text into pieces, one after another. raw says that the pieces
// are bytes then, which a byte-level vocabulary has a visible character for each.
type splitters struct {
	steps []splitter
	raw   bool
}

func (s *splitters) add(more splitters) {
	if s.raw { // and yet something follows that wants to see characters
		s.steps = append(s.steps, func(pieces []string, piece string, _ bool) []string {
			return append(pieces, seen(piece))
		})
	}
	s.steps, s.raw = append(s.steps, more.steps...), more.raw
}

// readSplitters reads one pre-tokenizer or a sequence of them.
func readSplitters(part json.RawMessage) (splitters, error) {
	none := splitters{}
	if absent(part) {
		return none, nil
	}
	steps := func(all []splitter, err error) (splitters, error) { return splitters{steps: all}, err }
	var file struct {
		Type          string            `json:"type"`
		Inner         []json.RawMessage `json:"pretokenizers"`
		Pattern       patternJSON       `json:"pattern"`
		Behavior      string            `json:"behavior"`
		Invert        bool              `json:"invert"`
		AddPrefix     bool              `json:"add_prefix_space"`
		UseRegex      *bool             `json:"use_regex"`
		Individual    bool              `json:"individual_digits"`
		Replacement   string            `json:"replacement"`
		PrependScheme string            `json:"prepend_scheme"`
		Split         *bool             `json:"split"`
	}
	if err := json.Unmarshal(part, &file); err != nil {
		return none, fmt.Errorf("pre_tokenizer: %w", userfile.JSONError(err))
	}
	switch file.Type {
	case "Sequence":
		var all splitters
		for _, inner := range file.Inner {
			s, err := readSplitters(inner)
			if err != nil {
				return none, err
			}
			all.add(s)
		}
		return all, nil
	case "ByteLevel":
		return byteLevel(file.AddPrefix, file.UseRegex == nil || *file.UseRegex), nil
	case "Split":
		return steps(patternSplitter(file.Pattern, file.Behavior, file.Invert))
	case "Digits":
		expression := `\p{N}+`
		if file.Individual {
			expression = eachNumber
		}
		return steps(patternSplitter(patternJSON{Regex: &expression}, isolated, false))
	case "Metaspace":
		if file.PrependScheme == "" {
			file.PrependScheme = "always"
		}
		return steps(metaspace(file.Replacement, file.PrependScheme, file.Split == nil || *file.Split))
	case "BertPreTokenizer":
		return splitters{steps: []splitter{bert}}, nil
	case "WhitespaceSplit":
		return splitters{steps: []splitter{func(pieces []string, piece string, _ bool) []string {
			return append(pieces, strings.Fields(piece)...)
		}}}, nil
	default:
		return none, fmt.Errorf("pre_tokenizer of type %q is not supported", file.Type)
	}
}

// What becomes of a match.
const (
	isolated   = "Isolated"
	removed    = "Removed"
	toPrevious = "MergedWithPrevious"
	toNext     = "MergedWithNext"
)

// patternSplitter splits at what a pattern matches, or, inverted, at what it
// does not.
func patternSplitter(p patternJSON, behavior string, invert bool) ([]splitter, error) {
	find, err := p.compile()
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	switch behavior {
	case isolated, removed, toPrevious, toNext:
	default:
		return nil, fmt.Errorf("pre_tokenizer: behavior %q is not supported", behavior)
	}
	if behavior == isolated { // the commonest, and the same inverted
		return []splitter{func(pieces []string, piece string, _ bool) []string {
			return find.isolate(pieces, piece)
		}}, nil
	}
	return []splitter{func(pieces []string, piece string, _ bool) []string {
		var parts []part
		end := 0
		add := func(from, to int, match bool) {
			if from < to {
				parts = append(parts, part{piece[from:to], match != invert})
			}
		}
		find.matches(piece, func(from, to int) {
			add(end, from, false)
			add(from, to, true)
			end = to
		})
		add(end, len(piece), false)
		return appendParts(pieces, parts, behavior)
	}}, nil
}

// part is a match, or what stands between two.
type part struct {
	text  string
	match bool
}

// appendParts appends the pieces that parts make. Only a match beside what is
// none joins it.
func appendParts(pieces []string, parts []part, behavior string) []string {
	for i, p := range parts {
		before := i > 0 && !parts[i-1].match
		after := i+1 < len(parts) && !parts[i+1].match
		switch {
		case p.match && behavior == removed:
		case p.match && behavior == toPrevious && before:
			pieces[len(pieces)-1] += p.text
		case p.match && behavior == toNext && after:
			parts[i+1].text = p.text + parts[i+1].text
		default:
			pieces = append(pieces, p.text)
		}
	}
	return pieces
}

// byteLevel splits by the pattern of GPT-2, if at all, and makes bytes of what it
// finds.
func byteLevel(prefix, byRegex bool) splitters {
	all := splitters{raw: true}
	if prefix {
		all.steps = append(all.steps, func(pieces []string, piece string, first bool) []string {
			if !strings.HasPrefix(piece, " ") {
				piece = " " + piece
			}
			return append(pieces, piece)
		})
	}
	if byRegex {
		all.steps = append(all.steps, split(gpt2))
	}
	return all
}

// split isolates what one of this package's patterns matches.
func split(expression string) splitter {
	find, err := (&patternJSON{Regex: &expression}).compile()
	if err != nil {
		panic(err)
	}
	return func(pieces []string, piece string, _ bool) []string { return find.isolate(pieces, piece) }
}

// metaspace writes spaces as a character of their own and splits before it.
func metaspace(replacement, scheme string, split bool) ([]splitter, error) {
	switch scheme {
	case "always", "first", "never":
	default:
		return nil, fmt.Errorf("pre_tokenizer: prepend_scheme %q is not supported", scheme)
	}
	all := []splitter{func(pieces []string, piece string, first bool) []string {
		piece = strings.ReplaceAll(piece, " ", replacement)
		if !strings.HasPrefix(piece, replacement) && (scheme == "always" || scheme == "first" && first) {
			piece = replacement + piece
		}
		return append(pieces, piece)
	}}
	if !split {
		return all, nil
	}
	next, err := patternSplitter(patternJSON{String: &replacement}, toNext, false)
	return append(all, next...), err
}

// bert splits at white space, which goes, and around each punctuation mark.
func bert(pieces []string, piece string, _ bool) []string {
	for _, word := range strings.Fields(piece) {
		start := 0
		for i, r := range word {
			if unicode.IsPunct(r) || r < unicode.MaxASCII && unicode.IsSymbol(r) {
				if start < i {
					pieces = append(pieces, word[start:i])
				}
				start = i + len(string(r))
				pieces = append(pieces, word[i:start])
			}
		}
		if start < len(word) {
			pieces = append(pieces, word[start:])
		}
	}
	return pieces
}
