package segments

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Report says what of an alias's prompts repeats. Counts are of the last prompts
// only: beyond 16,384, older ones count half. They may be low by one: of a prompt
// that came once, only the first 2 KiB are kept.
type Report struct {
	Alias    string    `json:"alias"`
	Since    time.Time `json:"since,omitzero"`
	Requests int64     `json:"requests"`
	Tokens   int64     `json:"tokens"` // of all prompts; here as everywhere, four bytes of text are one
	// RepeatedTokens are those that an earlier prompt had begun with: what a prefix
	// cache that forgets nothing would have held.
	RepeatedTokens int64    `json:"repeated_tokens"`
	Prefixes       []Prefix `json:"prefixes"` // by the tokens they save, most first
	Breaks         []Break  `json:"breaks"`   // by requests, most first
}

// Prefix is a beginning that prompts share.
type Prefix struct {
	ID        string    `json:"id"`               // hash of its content
	Within    string    `json:"within,omitempty"` // the prefix here that it goes on from
	Segment   string    `json:"segment"`          // where it ends, such as messages[0]
	Role      string    `json:"role,omitempty"`
	Whole     bool      `json:"whole"`  // it ends where its segment ends,
	Offset    int       `json:"offset"` // else, and also then, after so many bytes of it
	Requests  int64     `json:"requests"`
	Share     float64   `json:"share"`  // of the alias's requests
	Tokens    int64     `json:"tokens"` // of the prefix
	Traffic   float64   `json:"share_of_tokens"`
	Tenants   int       `json:"tenants"` // up to 16: caches are parted by tenant
	FirstSeen time.Time `json:"first_seen"`
	LastSeen  time.Time `json:"last_seen"`
	Pin       bool      `json:"pin"` // long, common and lasting enough to be kept in a cache on purpose
	Excerpt   string    `json:"excerpt,omitempty"`
}

// Break is a place where prompts that could share more part.
type Break struct {
	Segment  string  `json:"segment"`
	Role     string  `json:"role,omitempty"`
	Offset   int     `json:"offset"` // bytes of the segment's JSON text
	LooksAs  Kind    `json:"looks_like"`
	Requests int64   `json:"requests"`
	Share    float64 `json:"share"`
	// SameAfter is the share of them whose segment ended as that of the request
	// before: the rest could be shared, were this text moved behind it.
	SameAfter   float64 `json:"same_after"`
	TokensAfter int64   `json:"tokens_after"` // of the segment, on average
	Excerpt     string  `json:"excerpt,omitempty"`
}

// What is worth telling.
const (
	bytesPerToken = 4
	leastShare    = 0.01
	leastRequests = 2
	maxPrefixes   = 50
	maxListed     = 20 // breaks

	// A prefix is worth pinning when at least a tenth of the traffic begins with
	// it, it is long enough to matter, and it has come often and for a while.
	pinShare    = 0.1
	pinTokens   = 256
	pinRequests = 20
	pinAge      = 10 * time.Minute
)

// Report describes what the sketch has seen.
func (s *Sketch) Report() Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := Report{
		Since: s.since, Requests: s.root.count, Tokens: s.bytes / bytesPerToken, RepeatedTokens: s.repeated / bytesPerToken,
		Prefixes: []Prefix{}, Breaks: []Break{},
	}
	w := walk{sketch: s, report: &r}
	w.visit(&s.root, "")
	slices.SortFunc(r.Prefixes, func(a, b Prefix) int {
		return cmp.Or(cmp.Compare(b.Requests*b.Tokens, a.Requests*a.Tokens), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(r.Breaks, func(a, b Break) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Segment, b.Segment), cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.LooksAs, b.LooksAs))
	})
	r.Prefixes = r.Prefixes[:min(len(r.Prefixes), maxPrefixes)]
	r.Breaks = r.Breaks[:min(len(r.Breaks), maxListed)]
	return r
}

// walk collects a report.
type walk struct {
	sketch *Sketch
	report *Report
}

// visit takes in all below a node that is worth telling, and reports whether
// there is something to pin.
func (w *walk) visit(n *node, within string) (pinned bool) {
	for i := range n.breaks {
		w.add(&n.breaks[i])
	}
	for _, child := range n.next {
		if !w.tells(child.count) {
			continue
		}
		p := w.prefix(child, within)
		// What nearly all go on from in the same way is told as the longer one.
		heir := child.heir()
		if heir != nil && len(child.breaks) == 0 && heir.count*20 >= child.count*19 {
			pinned = w.visit(child, within) || pinned
			continue
		}
		below := w.visit(child, p.ID)
		p.Pin = !below && w.pins(child)
		pinned = pinned || below || p.Pin
		w.report.Prefixes = append(w.report.Prefixes, p)
	}
	return pinned
}

func (w *walk) tells(count int64) bool {
	return count >= leastRequests && float64(count) >= leastShare*float64(w.sketch.root.count)
}

func (w *walk) pins(n *node) bool {
	return n.count >= pinRequests && float64(n.count) >= pinShare*float64(w.sketch.root.count) &&
		n.end.upTo >= pinTokens*bytesPerToken && n.last.Sub(n.first) >= pinAge
}

// heir is the most common of a node's children, nil without any.
func (n *node) heir() (most *node) {
	for _, child := range n.next {
		if most == nil || child.count > most.count {
			most = child
		}
	}
	return most
}

func (w *walk) prefix(n *node, within string) Prefix {
	share := func(part, of int64) float64 { return float64(part) / float64(max(of, 1)) }
	return Prefix{
		ID: fmt.Sprintf("%016x", n.label[len(n.label)-1]), Within: within,
		Segment: name(n.end.part, n.end.index), Role: n.end.role, Whole: n.end.whole, Offset: n.end.offset,
		Requests: n.count, Share: share(n.count, w.sketch.root.count),
		Tokens: int64(n.end.upTo / bytesPerToken), Traffic: share(n.count*int64(n.end.upTo), w.sketch.bytes),
		Tenants: len(n.tenants), FirstSeen: n.first, LastSeen: n.last, Excerpt: n.end.text,
	}
}

func (w *walk) add(b *breakage) {
	if !w.tells(b.count) {
		return
	}
	count := max(b.count, 1)
	w.report.Breaks = append(w.report.Breaks, Break{
		Segment: name(b.part, b.index), Role: b.role, Offset: b.offset, LooksAs: b.kind,
		Requests: b.count, Share: float64(b.count) / float64(max(w.sketch.root.count, 1)),
		SameAfter: float64(b.same) / float64(count), TokensAfter: b.after / count / bytesPerToken, Excerpt: b.text,
	})
}
