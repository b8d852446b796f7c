package segments

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// breakage is what keeps prompts apart behind a common beginning.
type breakage struct {
	part   string
	index  int
	role   string
	offset int // in the segment, bytes
	kind   Kind
	count  int64 // prompts
	same   int64 // of them, those that went on as the one before, as far as can be seen
	after  int64 // bytes of their segments that follow, sum
	text   string
}

// leaver is what is remembered of a prompt to compare the next one with.
type leaver struct {
	tail   uint64   // hash of the end of its segment, 0 when that is near
	looks  []uint64 // hashes of what in its piece looks like something
	number uint16
}

// differ tells what text[from:to], which differs from what the last prompt has
// there, looks like, and remembers it. What that one had too is not what differs.
func (l *leaver) differ(text string, from, to int) found {
	what := found{Text, from, to}
	looks := make([]uint64, 0, 4)
	for _, f := range look(text, from, to) {
		h := xxhash.Sum64String(text[f.start:f.end]) + uint64(f.start)
		if what.kind == Text && !slices.Contains(l.looks, h) {
			what = f
		}
		looks = append(looks, h)
	}
	l.looks = looks
	if what.kind == Number {
		now := low(text[what.start:what.end])
		if counts(l.number, now) {
			what.kind = Counter
		}
		l.number = now
	}
	return what
}

const (
	maxBreaks = 4
	tailBytes = 128 // of a segment that must be equal for the rest to count as the same
)

// diverge notes why a prompt goes on from n as none before did, from the piece on.
//
// No text of other prompts is there to compare with. What differs lies in the
// piece, so what it looks like is read from this prompt; that it is an insertion
// and not another text shows when the segment ends as that of the prompt before.
// In what users say, a difference that is none of an insertion is no break.
func (s *Sketch) diverge(n *node, prompt []Segment, p piece) {
	seg := &prompt[p.segment]
	rest := len(seg.Text) - p.offset - p.size
	tail := uint64(0)
	if rest >= tailBytes {
		tail = xxhash.Sum64String(seg.Text[len(seg.Text)-tailBytes:])
	}
	same := tail != 0 && tail == n.left.tail
	n.left.tail = tail
	role := known(seg.Role, roles)
	written := seg.Part == "tools" || seg.Part == "instructions" || role == "system" || role == "developer"
	if !written && !same {
		return
	}
	compared := n.left.looks != nil
	what := n.left.differ(seg.Text, p.offset, p.offset+p.size)
	if !compared || len(n.next) == 0 {
		return // the first one, as far as is remembered
	}
	b := breakage{part: known(seg.Part, parts), index: seg.Index, role: role, offset: what.start, kind: what.kind}
	n.note(b, same, int64(len(seg.Text)-what.end), s.quote(seg.Text, max(0, what.start-s.excerpt/2)))
}

// note counts a breakage. There is room for few; a new one takes the place of the
// rarest, which is halved away by others.
func (n *node) note(b breakage, same bool, after int64, text string) {
	i := slices.IndexFunc(n.breaks, func(o breakage) bool {
		return o.part == b.part && o.index == b.index && o.offset == b.offset && o.kind == b.kind
	})
	if i < 0 && len(n.breaks) == maxBreaks {
		rarest := slices.MinFunc(n.breaks, func(a, b breakage) int { return cmp.Compare(a.count, b.count) })
		i = slices.Index(n.breaks, rarest)
		if n.breaks[i].count > 1 {
			n.breaks[i].count /= 2
			n.breaks[i].same /= 2
			n.breaks[i].after /= 2
			return
		}
		n.breaks[i] = b
	}
	if i < 0 {
		n.breaks = append(n.breaks, b)
		i = len(n.breaks) - 1
	}
	o := &n.breaks[i]
	o.count++
	o.after += after
	o.text = text
	if same {
		o.same++
	}
}

// cutText returns a copy of text[from:to], in whole characters.
func cutText(text string, from, to int) string {
	from, to = min(from, len(text)), min(to, len(text))
	if from >= to {
		return ""
	}
	for to > from && to < len(text) && !utf8.RuneStart(text[to]) { // a text of stray bytes has no start at all
		to--
	}
	for from < to && !utf8.RuneStart(text[from]) {
		from++
	}
	if from >= to {
		return ""
	}
	return strings.Clone(text[from:to])
}
