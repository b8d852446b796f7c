package check

// Channel is one text inside a stream: the content of a choice, its reasoning, or
// the arguments of one of its tool calls.
type Channel struct {
	Choice int64
	Name   string
	Call   int64
}

// Part is the piece of a channel's text that an event brings.
type Part struct {
	Channel Channel
	Text    string
}

// Gate holds the events of a stream back until no match of a filter can touch
// their text, so that a match that spans events is found before any of it is out.
// Events pass in the order in which they came.
type Gate[E any] struct {
	Filters []*Filter

	channels map[Channel]*channel
	waiting  []waiting[E]
}

// channel is what the filters know of one text.
type channel struct {
	windows []Window
	read    int // bytes
	safe    int
	ended   bool
}

// waiting is an event with the end of its part of each text.
type waiting[E any] struct {
	event E
	ends  []end
}

type end struct {
	of *channel
	at int
}

// Push takes in an event and returns those that may pass now, or the filter that
// the stream matches: then none of those that wait may ever pass.
func (g *Gate[E]) Push(event E, parts []Part) (pass []E, hit *Filter) {
	w := waiting[E]{event: event}
	for _, p := range parts {
		if p.Text == "" {
			continue
		}
		c := g.channel(p.Channel)
		if hit := g.push(c, p.Text); hit != nil {
			return nil, hit
		}
		w.ends = append(w.ends, end{of: c, at: c.read})
	}
	g.waiting = append(g.waiting, w)
	return g.release(), nil
}

func (g *Gate[E]) channel(name Channel) *channel {
	c := g.channels[name]
	if c == nil {
		c = &channel{}
		for _, f := range g.Filters {
			c.windows = append(c.windows, f.Window())
		}
		if g.channels == nil {
			g.channels = map[Channel]*channel{}
		}
		g.channels[name] = c
	}
	return c
}

func (g *Gate[E]) push(c *channel, text string) *Filter {
	c.read += len(text)
	c.safe, c.ended = c.read, false
	for i, w := range c.windows {
		matched, safe := w.Push(text)
		if matched {
			return g.Filters[i]
		}
		c.safe = min(c.safe, safe)
	}
	return nil
}

// release takes out the events at the front whose texts are safe.
func (g *Gate[E]) release() (pass []E) {
	for len(g.waiting) > 0 {
		for _, e := range g.waiting[0].ends {
			if e.at > e.of.safe {
				return pass
			}
		}
		pass = append(pass, g.waiting[0].event)
		g.waiting = g.waiting[1:]
	}
	return pass
}

// End says that the texts of a choice, or with all those of every choice, are
// complete.
func (g *Gate[E]) End(choice int64, all bool) (pass []E, hit *Filter) {
	for name, c := range g.channels {
		if c.ended || !all && name.Choice != choice {
			continue
		}
		for i, w := range c.windows {
			if w.End() {
				return nil, g.Filters[i]
			}
		}
		c.safe, c.ended = c.read, true
	}
	return g.release(), nil
}
