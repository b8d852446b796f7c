package workload

import "strings"

// Prompt is the text of one request.
type Prompt struct {
	System string // the prefix, equal for all requests of a group; empty without one
	User   string // the rest, of this request alone
}

// text is words with single spaces between them, and where each word ends.
type text struct {
	joined string
	ends   []int
}

// Prompt returns the text of a turn: Prefix words for the system message and
// Input − Prefix words for the user. It panics when the stream was made without
// words.
//
// A word is one token of the built-in model's tokenizer and about one in
// others. What the target's chat template adds to it is not known here; the
// achieved length is what the target reports in its usage.
func (s *Stream) Prompt(session Session, turn int) Prompt {
	t := session.Turns[turn]
	id := session.Index<<16 | int64(turn) // no session has more than 65,536 turns
	var p Prompt
	switch {
	case t.Group != NoGroup:
		p.System = s.groupPrefix(t.Group, t.Prefix)
	case t.Prefix > 0:
		p.System = s.write(newRandom(s.textSeed, forPrefixText, -1-id), t.Prefix).joined
	}
	p.User = s.write(newRandom(s.textSeed, forOwnText, id), t.Input-t.Prefix).joined
	return p
}

// groupPrefix returns the first n words of a group's prefix.
func (s *Stream) groupPrefix(group, n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	prefix, ok := s.prefixes[group]
	if !ok {
		prefix = s.write(newRandom(s.textSeed, forPrefixText, int64(group)), s.workload.Prefix.Tokens)
		s.prefixes[group] = prefix
	}
	return prefix.joined[:prefix.ends[n-1]]
}

// write draws n words.
func (s *Stream) write(r random, n int) text {
	words := s.options.Words
	if len(words) == 0 {
		panic("workload: text asked of a stream without words")
	}
	var b strings.Builder
	b.Grow(n * 7) // English words in such lists have about six letters
	ends := make([]int, n)
	for i := range n {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(words[(r.pcg.Uint64()>>32)*uint64(len(words))>>32])
		ends[i] = b.Len()
	}
	return text{b.String(), ends}
}
