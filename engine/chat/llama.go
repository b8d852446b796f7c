package chat

import "strings"

const pythonTag = "<|python_tag|>"

// llama reads {"name": …, "parameters": {…}}, which Llama 3 models write as their
// whole answer, several with semicolons between them, after <|python_tag|> or not.
type llama struct {
	calls
	held string
	text bool // the rest is content
	next bool // a call ended
}

func (l *llama) Push(text string) (d Delta) {
	l.held += text
	for l.step(&d) {
	}
	return d
}

func (l *llama) step(d *Delta) bool {
	switch {
	case l.text:
		d.Content += l.held
		l.held = ""
		return false
	case l.scan != nil:
		return l.call(d)
	}
	rest := strings.TrimLeft(l.held, space)
	if l.next {
		rest = strings.TrimLeft(strings.TrimPrefix(rest, ";"), space)
	}
	rest = strings.TrimLeft(strings.TrimPrefix(rest, pythonTag), space)
	switch {
	case rest == "" || len(rest) < len(pythonTag) && strings.HasPrefix(pythonTag, rest):
		return false
	case rest[0] == '{':
		l.start(len(l.held) - len(rest))
	default:
		l.text = true
	}
	return true
}

func (l *llama) call(d *Delta) bool {
	state, took := l.feed(l.held, d)
	switch {
	case state == objectDone && l.told:
		l.held = l.held[took:]
		l.next = true
	case state == objectDone, state == objectBroken && !l.told:
		l.text = true
	case state == objectBroken:
		l.held = l.held[took-1:]
		l.text = true
	default:
		if l.told {
			l.held, l.fed = l.held[took:], 0
		}
		return false
	}
	l.stop()
	return true
}

func (l *llama) Flush() (d Delta) {
	unfinished := l.scan != nil && l.told
	separator := l.next && strings.Trim(l.held, space+";") == ""
	if !unfinished && !separator {
		d.Content = l.held
	}
	l.held = ""
	return d
}
