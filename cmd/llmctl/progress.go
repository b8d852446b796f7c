package main

import (
	"fmt"
	"time"

	"github.com/llmctl/llmctl/internal/iostreams"
)

const (
	redrawEvery = 200 * time.Millisecond // on a terminal, where the line is drawn over
	lineEvery   = 5 * time.Second        // elsewhere, where each is kept
)

// progress tells on standard error how far something is that may take long, at
// most once a period and not in the first, so that what ends soon says nothing.
type progress struct {
	s     *iostreams.IO
	now   func() time.Time
	over  bool // lines can be drawn over
	last  time.Time
	drawn bool
}

func newProgress(s *iostreams.IO, now func() time.Time) *progress {
	return &progress{s: s, now: now, over: s.ErrTTY && s.Env("TERM") != "dumb", last: now()}
}

// say shows a line: over the one before it on a terminal, else below it.
func (p *progress) say(format string, args ...any) {
	every := lineEvery
	if p.over {
		every = redrawEvery
	}
	at := p.now()
	if at.Sub(p.last) < every {
		return
	}
	p.last = at
	if !p.over {
		fmt.Fprintf(p.s.Err, format+"\n", args...)
		return
	}
	p.drawn = true
	fmt.Fprintf(p.s.Err, "\r"+format+clearLine, args...)
}

// clearLine clears from the cursor to the end of the line.
const clearLine = "\x1b[K"

// clear takes the line away again, for what is written next.
func (p *progress) clear() {
	if p.drawn {
		fmt.Fprint(p.s.Err, "\r"+clearLine)
		p.drawn = false
	}
}
