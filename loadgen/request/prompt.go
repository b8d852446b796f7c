package request

import (
	"github.com/llmctl/llmctl/loadgen/workload"
)

// Prompts says what requests say and ask for besides the workload.
type Prompts struct {
	Seed    uint64 // of the workload
	Salt    string // of the run: another salt, other texts of the same lengths
	Lengths Lengths

	CacheSalt  bool           // send the salt as cache_salt too, which keeps even recorded texts apart (vLLM)
	Priority   map[string]int // sent as priority, by class (vLLM); classes that are not here send none
	ToolChoice ToolChoice     // of requests that offer tools; ToolsAuto when empty
	Extra      Extra          // added to every body
	// ReplaceModel sends recorded bodies with the Writer's model in the place
	// of their own.
	ReplaceModel bool
}

// first returns the texts of a session's first turn: the prefix, empty without
// one, and the rest.
func (w *Writer) first(session int64, t *workload.Turn) (system, user string) {
	switch {
	case t.Text != "":
		return "", t.Text
	case len(t.Hashes) > 0:
		return "", w.blocks(t)
	}
	n, rest := w.Lengths.split(t.Input, t.Prefix, shape{tools: t.Tools, schema: t.Schema})
	seed, words := w.seed(), w.Lengths.pool()
	switch {
	case t.Prefix == 0:
	case t.Group != workload.NoGroup:
		system = w.group(t.Group, n)
	default:
		system = write(words, seed, prefixText, number(session, 0), n)
	}
	return system, write(words, seed, ownText, number(session, 0), rest)
}

// later returns the message of a later turn of a session.
func (w *Writer) later(session int64, turn int, t *workload.Turn) string {
	if t.Text != "" {
		return t.Text
	}
	n := w.Lengths.count(float64(t.Input) - w.Lengths.later)
	return write(w.Lengths.pool(), w.seed(), ownText, number(session, turn), n)
}

// number is that of a turn among all of a stream; no session has more than
// 65,536 turns.
func number(session int64, turn int) uint64 { return uint64(session)<<16 | uint64(turn) }

func (w *Writer) seed() uint64 { return textSeed(w.Seed, w.Salt) }

// prefix is the text of a group as far as it has been asked for, and where each
// word of it ends.
type prefix struct {
	text string
	ends []int
}

// group returns the first n words of a group's prefix.
func (w *Writer) group(group, n int) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.groups[group]
	if n > len(p.ends) {
		t := newText(w.Lengths.pool(), w.seed(), groupText, uint64(group))
		b := t.appendStart(make([]byte, 0, n*bytesPerWord))
		p = prefix{ends: append(make([]int, 0, n), len(b))}
		for range n - 1 {
			b = t.appendWords(b, 1)
			p.ends = append(p.ends, len(b))
		}
		p.text = string(b)
		if w.groups == nil {
			w.groups = map[int]prefix{}
		}
		w.groups[group] = p
	}
	return p.text[:p.ends[n-1]]
}

// blocks returns the text of a prompt whose blocks are known by their ids: equal
// ids are equal text, so that prompts share what the recorded ones did.
func (w *Writer) blocks(t *workload.Turn) string {
	left := w.Lengths.count(float64(t.Input) - w.Lengths.overhead[shape{tools: t.Tools, schema: t.Schema}])
	per := w.Lengths.count(workload.HashTokens)
	b := make([]byte, 0, left*bytesPerWord)
	for i, id := range t.Hashes {
		n := min(per, left)
		if i == len(t.Hashes)-1 {
			n = left // a length that its blocks do not hold goes on in the last one
		}
		block := newText(w.Lengths.pool(), w.seed(), blockText, id)
		if i == 0 && n > 0 {
			b = block.appendStart(b)
			n, left = n-1, left-1
		}
		b = block.appendWords(b, n)
		left -= n
	}
	return string(b)
}
