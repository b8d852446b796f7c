package queue

// class is the requests of one priority.
type class[T any] struct {
	priority int
	virtual  int64            // time: the finish of the request that went last
	tenants  map[string]*flow // that have requests here
	heaps    [2][]*Ticket[T]  // who goes first, and who goes last, at the top
}

// flow is one tenant's requests that wait.
type flow struct {
	waiting int
	finish  int64 // of the latest
}

const (
	toFirst = iota
	toLast
)

func (c *class[T]) len() int          { return len(c.heaps[toFirst]) }
func (c *class[T]) first() *Ticket[T] { return c.heaps[toFirst][0] }
func (c *class[T]) last() *Ticket[T]  { return c.heaps[toLast][0] }

// push gives a request its finish and its place.
func (c *class[T]) push(t *Ticket[T]) {
	f := c.tenants[t.item.Tenant]
	if f == nil {
		f = &flow{}
		c.tenants[t.item.Tenant] = f
	}
	f.waiting++
	t.start = max(c.virtual, f.finish)
	t.finish = t.start + min(max(1, t.item.Cost), maxCost)*grain/int64(max(1, t.item.Weight))
	f.finish = t.finish
	for side := range c.heaps {
		c.insert(side, t)
	}
}

// grain is how finely costs are divided by weights: without it, the tokens of
// short requests of heavy tenants would be rounded away.
const grain = 1 << 10

// maxCost is far above what any model takes. It keeps sums of costs far below what
// overflows, whatever a client asks for.
const maxCost = 1 << 32

// next takes out the first request that may go; nil when none may.
func (c *class[T]) next(may func(T) bool) *Ticket[T] {
	var passed []*Ticket[T]
	for c.len() > 0 {
		t := c.first()
		if may(t.Value) {
			c.virtual = max(c.virtual, t.finish) // one that was passed over comes later than those behind it
			c.restore(passed)
			c.take(t)
			return t
		}
		c.extract(toFirst, t)
		passed = append(passed, t)
	}
	c.restore(passed)
	return nil
}

// restore puts back requests that were passed over.
func (c *class[T]) restore(passed []*Ticket[T]) {
	for _, t := range passed {
		c.insert(toFirst, t)
	}
}

// withdraw takes out a request that is not served: its tenant's next one takes
// its place, if it was the latest.
func (c *class[T]) withdraw(t *Ticket[T]) {
	if f := c.tenants[t.item.Tenant]; f.finish == t.finish {
		f.finish = t.start
	}
	c.take(t)
}

func (c *class[T]) take(t *Ticket[T]) {
	// A tenant that waits for nothing has a finish that has passed, and is as good
	// as one that never came.
	f := c.tenants[t.item.Tenant]
	if f.waiting--; f.waiting == 0 {
		delete(c.tenants, t.item.Tenant)
	}
	for side := range c.heaps {
		c.extract(side, t)
	}
	if c.len() == 0 {
		c.virtual = 0 // nothing is left that it is compared with
	}
	t.class = nil
}

func (c *class[T]) insert(side int, t *Ticket[T]) {
	t.at[side] = len(c.heaps[side])
	c.heaps[side] = append(c.heaps[side], t)
	c.up(side, t.at[side])
}

func (c *class[T]) extract(side int, t *Ticket[T]) {
	h := c.heaps[side]
	i, last := t.at[side], len(h)-1
	c.swap(side, i, last)
	h[last] = nil
	c.heaps[side] = h[:last]
	if i < last {
		c.down(side, i)
		c.up(side, i)
	}
}

// before orders one of the two heaps.
func (c *class[T]) before(side, i, j int) bool {
	a, b := c.heaps[side][i], c.heaps[side][j]
	if side == toLast {
		a, b = b, a
	}
	if a.finish != b.finish {
		return a.finish < b.finish
	}
	return a.order < b.order
}

func (c *class[T]) swap(side, i, j int) {
	h := c.heaps[side]
	h[i], h[j] = h[j], h[i]
	h[i].at[side], h[j].at[side] = i, j
}

func (c *class[T]) up(side, i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if !c.before(side, i, parent) {
			return
		}
		c.swap(side, i, parent)
		i = parent
	}
}

func (c *class[T]) down(side, i int) {
	n := len(c.heaps[side])
	for {
		child := 2*i + 1
		if child >= n {
			return
		}
		if child+1 < n && c.before(side, child+1, child) {
			child++
		}
		if !c.before(side, child, i) {
			return
		}
		c.swap(side, i, child)
		i = child
	}
}
