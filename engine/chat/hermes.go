package chat

import "strings"

const hermesOpen, hermesClose = "<tool_call>", "</tool_call>"

// hermes reads <tool_call>{"name": …, "arguments": {…}}</tool_call>, which Qwen 2.5
// and 3 and the Hermes models write: text may stand before it and several may follow
// one another.
type hermes struct {
	calls
	held    string
	closing bool // a call's object ended, its end marker did not come yet
	after   bool // a call ended: white space alone is not worth a delta
}

func (h *hermes) Push(text string) (d Delta) {
	h.held += text
	for h.step(&d) {
	}
	return d
}

// step goes as far as one state carries, and reports whether another may go on.
func (h *hermes) step(d *Delta) bool {
	switch {
	case h.scan != nil:
		return h.call(d)
	case h.closing:
		return h.close()
	}
	i := strings.Index(h.held, hermesOpen)
	if i < 0 {
		keep := overlap(h.held, hermesOpen)
		if h.after && blank(h.held[:len(h.held)-keep]) {
			return false
		}
		h.emit(d, len(h.held)-keep)
		return false
	}
	if h.after && blank(h.held[:i]) {
		h.held = h.held[i:]
	} else {
		h.emit(d, i)
	}
	h.start(len(hermesOpen))
	return true
}

// emit gives the first n bytes that are held as content.
func (h *hermes) emit(d *Delta, n int) {
	if n > 0 {
		d.Content += h.held[:n]
		h.held = h.held[n:]
		h.after = false
	}
}

func (h *hermes) call(d *Delta) bool {
	state, took := h.feed(h.held, d)
	switch {
	case state == objectDone && h.told:
		h.held = h.held[took:]
		h.closing = true
	case state == objectDone, state == objectBroken && !h.told:
		h.emit(d, len(hermesOpen))
	case state == objectBroken:
		// The byte at which it broke may begin the end marker.
		h.held = h.held[took-1:]
		h.closing = true
	default:
		if h.told {
			h.held, h.fed = h.held[took:], 0
		}
		return false
	}
	h.stop()
	return true
}

// close drops white space and the end marker of a call.
func (h *hermes) close() bool {
	rest := strings.TrimLeft(h.held, space)
	if rest == "" || len(rest) < len(hermesClose) && strings.HasPrefix(hermesClose, rest) {
		return false
	}
	h.held = strings.TrimPrefix(rest, hermesClose)
	h.closing, h.after = false, true
	return true
}

func (h *hermes) Flush() (d Delta) {
	switch {
	case h.scan != nil && !h.told:
		h.emit(&d, len(hermesOpen))
		h.stop()
		rest := h.Push("")
		d.Content += rest.Content
		d.Calls = append(d.Calls, rest.Calls...)
		tail := h.Flush()
		d.Content += tail.Content
		d.Calls = append(d.Calls, tail.Calls...)
	case h.scan == nil && !h.closing && (!h.after || !blank(h.held)):
		h.emit(&d, len(h.held))
	}
	h.held = ""
	return d
}
