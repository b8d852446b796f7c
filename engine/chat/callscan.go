package chat

import (
	"encoding/json"
	"strings"
)

type scanState int

const (
	beforeObject scanState = iota
	beforeKey
	inKey
	beforeColon
	beforeValue
	inValue
	afterValue
	objectDone
	objectBroken
)

// callScan reads one object {"name": …, "arguments": …} byte by byte; "parameters"
// is another word for arguments. It checks the object itself and the brackets in its
// values, not more.
type callScan struct {
	state   scanState
	key     []byte // with quotes, of the value that is read
	value   []byte // of the name, or of a key that is not known
	open    []byte // closing brackets that the value still needs
	kind    byte   // of the value: '"', '{' for containers, 'x' for others
	escaped bool
	quoted  bool // inside a string of the value
	first   bool // no key came yet

	name      string
	hasName   bool
	arguments []byte // that came and were not taken
	hasArgs   bool   // their value began
	argsEnded bool
}

// push reads a byte and reports whether the object goes on.
func (s *callScan) push(c byte) bool {
	isBlank := strings.IndexByte(space, c) >= 0
	switch s.state {
	case beforeObject:
		s.first = true
		s.need(isBlank, c == '{', beforeKey)
	case beforeKey:
		if c == '}' && s.first {
			s.state = objectDone
			break
		}
		s.key = append(s.key[:0], c)
		s.need(isBlank, c == '"', inKey)
	case inKey:
		s.first = false
		s.key = append(s.key, c)
		if s.stringEnds(c) {
			s.state = beforeColon
		}
	case beforeColon:
		s.need(isBlank, c == ':', beforeValue)
	case beforeValue:
		if !isBlank {
			s.begin(c)
		}
	case inValue:
		s.inside(c)
	case afterValue:
		if c == '}' {
			s.state = objectDone
			break
		}
		s.need(isBlank, c == ',', beforeKey)
	}
	return s.state != objectDone && s.state != objectBroken
}

// need goes to the next state at the right byte, and stays at white space.
func (s *callScan) need(isBlank, right bool, next scanState) {
	switch {
	case right:
		s.state = next
	case !isBlank:
		s.state = objectBroken
	}
}

// stringEnds follows a string, whose opening quote was read.
func (s *callScan) stringEnds(c byte) bool {
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		return true
	}
	return false
}

func (s *callScan) isArgs() bool {
	key := string(s.key)
	return !s.argsEnded && (key == `"arguments"` || key == `"parameters"`)
}

func (s *callScan) begin(c byte) {
	s.state, s.value, s.open, s.quoted = inValue, s.value[:0], s.open[:0], false
	switch c {
	case '"':
		s.kind, s.quoted = '"', true
	case '{':
		s.kind, s.open = '{', append(s.open, '}')
	case '[':
		s.kind, s.open = '{', append(s.open, ']')
	case '}', ']', ',', ':':
		s.state = objectBroken
		return
	default:
		s.kind = 'x'
	}
	if s.isArgs() {
		s.hasArgs = true
	}
	s.keep(c)
}

func (s *callScan) keep(c byte) {
	if s.isArgs() {
		s.arguments = append(s.arguments, c)
	} else {
		s.value = append(s.value, c)
	}
}

func (s *callScan) inside(c byte) {
	if s.kind == 'x' && (c == ',' || c == '}' || strings.IndexByte(space, c) >= 0) {
		s.end()
		s.push(c)
		return
	}
	if s.quoted {
		s.keep(c)
		if s.stringEnds(c) {
			s.quoted = false
			if s.kind == '"' {
				s.end()
			}
		}
		return
	}
	closes := c == '}' || c == ']'
	if c == '<' || closes && (len(s.open) == 0 || s.open[len(s.open)-1] != c) {
		s.state = objectBroken // a marker in the middle of JSON, or a bracket too many
		return
	}
	s.keep(c)
	switch {
	case c == '"':
		s.quoted = true
	case c == '{':
		s.open = append(s.open, '}')
	case c == '[':
		s.open = append(s.open, ']')
	case closes:
		if s.open = s.open[:len(s.open)-1]; len(s.open) == 0 {
			s.end()
		}
	}
}

func (s *callScan) end() {
	s.state = afterValue
	if s.isArgs() {
		s.argsEnded = true
		return
	}
	if string(s.key) == `"name"` && !s.hasName {
		s.hasName = json.Unmarshal(s.value, &s.name) == nil && s.name != ""
	}
}

// opened reports whether it is certain that this is a call.
func (s *callScan) opened() bool {
	return s.hasName && (s.hasArgs || s.state == objectDone)
}

// take returns the arguments that came since; {} for a call that ended without.
func (s *callScan) take() string {
	if s.state == objectDone && !s.hasArgs {
		s.hasArgs = true
		return "{}"
	}
	out := string(s.arguments)
	s.arguments = s.arguments[:0]
	return out
}
