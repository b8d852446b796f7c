package sched

import (
	"cmp"
	"slices"
)

// cohort holds the sequences in steady decode: all that is known of them is
// computed, so that each gets one token in each round until it ends. Nothing of a
// member is touched in a round in which nothing but that happens to it: its counts
// are those of the tick at which it was last settled, and its blocks and its end
// are in calendars.
type cohort struct {
	on           bool  // every running sequence is a member, or one of the others
	ticks, ended int64 // rounds that Begin and End have counted
	size         int
	context      int64 // sum of the members' computed tokens

	// buckets are the members by when they need a block: in the rounds whose tick
	// is the index modulo the block size; each in order of admission.
	buckets [][]*sequence
	due     []*sequence // heap, the first to end on top
}

// membership is a sequence's part of the cohort.
type membership struct {
	steady bool
	tick   int64 // at which its counts were true
	due    int64 // tick of its last round
	dueAt  int   // index in the heap
}

// bucket is that of the members which need a block in the round of a tick.
func (c *cohort) bucket(tick int64) *[]*sequence {
	return &c.buckets[int(tick%int64(len(c.buckets)))]
}

// ready reports whether a running sequence is in steady decode. The first token of
// an answer is always an entry's, even if one token of the prompt was left. Drafts
// that were wrong leave room behind, so that blocks are not needed in their turn.
func (r *sequence) ready() bool {
	return r.length == r.computed+1 && r.known == r.length && r.known > r.req.Prompt && r.extent == r.computed && r.drafts == 0 && !r.shared
}

// join takes a sequence in between two rounds.
func (c *cohort) join(r *sequence) {
	r.steady, r.tick = true, c.ticks
	r.due = c.ticks + int64(r.limit-r.known)
	c.size++
	c.context += int64(r.computed)
	b := c.bucketOf(r)
	at := len(*b)
	for at > 0 && (*b)[at-1].ordinal > r.ordinal {
		at--
	}
	*b = slices.Insert(*b, at, r)
	r.dueAt = len(c.due)
	c.due = append(c.due, r)
	c.up(r.dueAt)
}

// leave settles a member and lets it go.
func (c *cohort) leave(r *sequence) {
	b := c.bucketOf(r)
	i, ok := byOrdinal(*b, r)
	if !ok {
		panic("sched: a member of the cohort is in no bucket")
	}
	*b = slices.Delete(*b, i, i+1)
	c.settle(r)
	c.size--
	c.context -= int64(r.computed)
	c.removeDue(r.dueAt)
	r.membership = membership{}
}

// settle brings the counts of a member up to date. While a round is under way its
// token is computed and not known.
func (c *cohort) settle(r *sequence) {
	n := int(c.ticks - r.tick)
	r.tick = c.ticks
	r.computed += n
	r.extent = r.computed
	r.length += n
	r.known = r.length - int(c.ticks-c.ended)
}

// bucketOf is the bucket of a member, which depends on no more than the sum of
// its length and its tick and so never changes.
func (c *cohort) bucketOf(r *sequence) *[]*sequence {
	size := int64(len(c.buckets))
	return c.bucket(((r.tick-int64(r.computed))%size + size) % size)
}

// byOrdinal finds a sequence in a list in order of admission.
func byOrdinal(list []*sequence, r *sequence) (int, bool) {
	return slices.BinarySearchFunc(list, r, func(a, b *sequence) int { return cmp.Compare(a.ordinal, b.ordinal) })
}

func (c *cohort) earlier(i, j int) bool {
	a, b := c.due[i], c.due[j]
	return a.due < b.due || a.due == b.due && a.ordinal < b.ordinal
}

func (c *cohort) swap(i, j int) {
	c.due[i], c.due[j] = c.due[j], c.due[i]
	c.due[i].dueAt, c.due[j].dueAt = i, j
}

func (c *cohort) up(i int) {
	for i > 0 && c.earlier(i, (i-1)/2) {
		c.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (c *cohort) down(i int) {
	for {
		child := 2*i + 1
		if child >= len(c.due) {
			return
		}
		if child+1 < len(c.due) && c.earlier(child+1, child) {
			child++
		}
		if !c.earlier(child, i) {
			return
		}
		c.swap(i, child)
		i = child
	}
}

func (c *cohort) removeDue(i int) {
	last := len(c.due) - 1
	c.swap(i, last)
	c.due[last] = nil
	c.due = c.due[:last]
	if i < last {
		c.up(i)
		c.down(i)
	}
}

// clear forgets all members, which were settled.
func (c *cohort) clear() {
	for i := range c.buckets {
		clear(c.buckets[i])
		c.buckets[i] = c.buckets[i][:0]
	}
	clear(c.due)
	c.due = c.due[:0]
	c.on, c.size, c.context = false, 0, 0
}
