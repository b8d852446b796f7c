package mock

import (
	"strings"
	"time"
)

// channel is what a token of an answer is part of.
type channel int

const (
	content channel = iota
	reasoning
	toolCall
)

// stream is the regular answer: tokens at the times asked for. It makes each
// event when it is due, and makes equal events once.
type stream struct {
	dialect
	tokens, step   int
	reasoning      int      // the first tokens, that are thought
	names          []string // of the members of a delta that carry thought tokens
	calls          int      // tool calls that carry the rest; 0 is text
	first, itl     time.Duration
	jitter         func() time.Duration // nil is none
	continuous     bool                 // each event tells the tokens so far
	usage          bool                 // the end does
	prompt, cached int
	reason         string // finish_reason

	begun, ended bool
	sent         int
	at           time.Duration
	buf          []byte
	last         chunk
}

// A chunk is some tokens that arrive together.
type chunk struct {
	channel     channel
	n           int  // tokens
	sent        int  // tokens with these
	head        bool // the first of the answer
	call        int  // which tool call
	open, close bool // the call begins, ends
}

// alike reports whether the event of two chunks is the same.
func (c chunk) alike(d chunk) bool {
	c.sent, d.sent = 0, 0
	return c == d
}

func (s *stream) piece(int) (piece, bool) {
	if !s.begun {
		s.begun = true
		if s.buf = s.begin(s.buf[:0], s); len(s.buf) > 0 {
			return piece{data: s.buf}, true
		}
	}
	if s.ended {
		return piece{}, false
	}
	if s.sent >= s.tokens {
		s.ended = true
		s.buf = s.finish(s.buf[:0], s)
		return piece{at: s.at, data: s.buf}, true
	}
	at := s.first + time.Duration(s.sent)*s.itl
	if s.jitter != nil {
		at = max(at+s.jitter(), s.at, 0)
	}
	s.at = at
	c := s.next()
	same := !s.continuous && !s.numbered && s.last.n > 0 && c.alike(s.last)
	if !same {
		s.buf = s.event(s.buf[:0], s, c)
	}
	s.last = c
	return piece{at: at, data: s.buf, tokens: c.n, same: same}, true
}

// next takes the next tokens that may arrive together.
func (s *stream) next() chunk {
	c := chunk{head: s.sent == 0}
	limit := s.tokens
	switch {
	case s.sent < s.reasoning:
		c.channel, limit = reasoning, s.reasoning
	case s.calls > 0:
		// Tokens are shared evenly; the first calls get those that are left.
		rest, begin := s.tokens-s.reasoning, s.reasoning
		for limit = begin; ; c.call++ {
			begin, limit = limit, limit+rest/s.calls
			if c.call < rest%s.calls {
				limit++
			}
			if s.sent < limit {
				break
			}
		}
		c.channel, c.open = toolCall, s.sent == begin
	}
	c.n = min(s.step, limit-s.sent)
	s.sent += c.n
	c.sent, c.close = s.sent, c.channel == toolCall && s.sent == limit
	return c
}

// whole is the same answer to a request that does not stream: it comes when the
// last token would have.
func (s *stream) whole() one {
	at := s.first
	for p, ok := s.piece(0); ok; p, ok = s.piece(0) {
		at = max(at, p.at)
	}
	return one{at: at, data: s.document(nil, s), tokens: s.tokens}
}

// tokensText is the text of n tokens.
func tokensText(n int) string { return strings.Repeat(" word", n) }
