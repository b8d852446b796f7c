package segments

import (
	"slices"
	"sync"
	"time"

	"github.com/cespare/xxhash/v2"
)

// Sketch counts the beginnings of the prompts of one alias.
type Sketch struct {
	excerpt int

	mu       sync.Mutex
	root     node
	nodes    int   // below root
	hashes   int   // in their labels
	bytes    int64 // of all prompts
	repeated int64 // of them, those that another prompt had begun with
	since    time.Time
}

// New returns an empty sketch. It keeps and shows up to excerpt bytes of a segment,
// 0 for none.
func New(excerpt int) *Sketch { return &Sketch{excerpt: max(0, excerpt)} }

// node is a beginning that prompts have in common. Its label is the hashes of the
// pieces that it has beyond its parent's.
type node struct {
	label   []uint64
	next    map[uint64]*node // by the first hash of their labels
	count   int64            // prompts that begin so
	end     place
	first   time.Time
	last    time.Time
	tenants []uint32 // hashes of the first few
	breaks  []breakage
	left    leaver // the last prompt that went on otherwise
}

// place is where a beginning ends.
type place struct {
	part   string
	index  int
	role   string
	offset int  // of the end in its segment, bytes
	whole  bool // the end is the segment's
	upTo   int  // bytes of the prompt
	text   string
}

// maxTenants is how many tenants of a beginning are told apart.
const maxTenants = 16

func (n *node) add(now time.Time, tenant uint32) {
	n.count++
	if n.first.IsZero() {
		n.first = now
	}
	n.last = now
	if len(n.tenants) < maxTenants && !slices.Contains(n.tenants, tenant) {
		n.tenants = append(n.tenants, tenant)
	}
}

const (
	// A sketch keeps up to maxNodes beginnings with maxHashes hashes: at most about
	// a megabyte.
	maxNodes  = 2048
	maxHashes = 32 << 10
	// firstLabel bounds the label of a beginning that was seen once, since most
	// never come again. The second time all of it is kept.
	firstLabel = 32
	// memory is how many prompts a sketch remembers: then all counts are halved.
	memory = 16 << 10
)

// piecesPool has memory for the pieces of a prompt; the longest have some 100 KB of them.
var piecesPool = sync.Pool{New: func() any { return new([]piece) }}

// Add counts a prompt of a tenant's.
func (s *Sketch) Add(now time.Time, tenant string, prompt []Segment) {
	if len(prompt) == 0 {
		return
	}
	room := piecesPool.Get().(*[]piece)
	defer piecesPool.Put(room)
	pieces := cut((*room)[:0], prompt)
	*room = pieces
	id := uint32(xxhash.Sum64String(tenant))
	total := 0
	for i := range prompt {
		total += len(prompt[i].Text)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.since.IsZero() {
		s.since = now
	}
	s.bytes += int64(total)
	n, i := &s.root, 0
	n.add(now, id)
	for i < len(pieces) {
		child := n.next[pieces[i].hash]
		if child == nil {
			s.diverge(n, prompt, pieces[i])
			s.grow(n, prompt, pieces[i:], now, id)
			break
		}
		k := common(child.label, pieces[i:])
		if k < len(child.label) {
			child = s.split(n, child, prompt, pieces[i:i+k])
		}
		child.add(now, id)
		n, i = child, i+k
	}
	if i > 0 {
		s.repeated += int64(pieces[i-1].upTo)
	}
	s.tidy()
}

func common(label []uint64, pieces []piece) int {
	k := 0
	for k < min(len(label), len(pieces)) && label[k] == pieces[k].hash {
		k++
	}
	return k
}

// grow adds a child to a node for the pieces that follow it.
func (s *Sketch) grow(n *node, prompt []Segment, pieces []piece, now time.Time, tenant uint32) {
	if len(n.next) > 0 || n == &s.root {
		pieces = pieces[:min(len(pieces), firstLabel)]
	}
	child := &node{label: make([]uint64, len(pieces)), end: s.place(prompt, pieces[len(pieces)-1])}
	for i := range pieces {
		child.label[i] = pieces[i].hash
	}
	child.add(now, tenant)
	n.adopt(child)
	s.nodes++
	s.hashes += len(child.label)
}

func (n *node) adopt(child *node) {
	if n.next == nil {
		n.next = make(map[uint64]*node, 1)
	}
	n.next[child.label[0]] = child
}

// split parts a child of n after the pieces, and returns the upper half.
func (s *Sketch) split(n, child *node, prompt []Segment, pieces []piece) *node {
	upper := &node{
		label: slices.Clone(child.label[:len(pieces)]), end: s.place(prompt, pieces[len(pieces)-1]),
		count: child.count, first: child.first, last: child.last, tenants: slices.Clone(child.tenants),
	}
	child.label = slices.Clone(child.label[len(pieces):])
	upper.adopt(child)
	n.adopt(upper)
	s.nodes++
	return upper
}

func (s *Sketch) place(prompt []Segment, p piece) place {
	seg := &prompt[p.segment]
	return place{
		part: known(seg.Part, parts), index: seg.Index, role: known(seg.Role, roles),
		offset: p.offset + p.size, whole: p.last, upTo: p.upTo, text: s.quote(seg.Text, 0),
	}
}

// quote returns the excerpt of a text from an offset on, as a copy.
func (s *Sketch) quote(text string, from int) string {
	return cutText(text, from, from+s.excerpt)
}
