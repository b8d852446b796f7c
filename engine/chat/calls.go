package chat

// calls is what the parsers of all formats share: the call that is being read.
type calls struct {
	o     ToolOptions
	scan  *callScan // nil outside of a call
	fed   int       // bytes of the parser's held text that scan has read
	index int       // of the next call
	told  bool      // the call that is read was announced
}

// feed reads a call from held, of which the first start bytes are before the object.
// It returns how the call stands after that, and how many bytes of held it took.
func (c *calls) feed(held string, d *Delta) (state scanState, took int) {
	for c.fed < len(held) {
		more := c.scan.push(held[c.fed])
		c.fed++
		if !more {
			break
		}
	}
	if c.scan.opened() {
		c.tell(d)
	}
	return c.scan.state, c.fed
}

func (c *calls) start(at int) { c.scan, c.fed, c.told = &callScan{}, at, false }

// stop ends the call that was read.
func (c *calls) stop() {
	if c.told {
		c.index++
	}
	c.scan, c.told = nil, false
}

// tell adds what is new of the call to a delta.
func (c *calls) tell(d *Delta) {
	piece := CallDelta{Index: c.index, Arguments: c.scan.take()}
	if !c.told {
		piece.Name = c.scan.name
	} else if piece.Arguments == "" {
		return
	}
	first := !c.told
	c.told = true
	if c.o.Single && c.index > 0 {
		return
	}
	if first {
		piece.ID = c.o.id()
	}
	d.Calls = append(d.Calls, piece)
}
