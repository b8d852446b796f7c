package profiles

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmctl/llmctl/internal/units"
)

// A section is a part of a scenario with keys of its own: serving, the gateway, a
// failure. Its slots are the one list of its keys, by which it is read, written,
// checked and laid over another.
type section interface {
	form() form
	slots() []slot
	Validate() error
}

// form is how a section is called and written in one word.
type form struct {
	what string // in messages
	lead bool   // the first slot may stand bare before a colon: queue_depth:target=4
	off  bool   // "off" is none
}

// slot is one key of a section and the place of its value. A value that is zero
// was not said, unless the slot is always said.
type slot struct {
	name   string
	to     any // *int, *int64, *float64, *time.Duration, *bool, *string, a nested, or a pointer to a pointer to what 0 can be said of
	as     measure
	words  []string // that a string may be; nil for any
	always bool
}

// nested is a value with keys or items of its own.
type nested interface {
	reader
	mapping() mapping // empty when nothing was said
	json() any        // nil when nothing was said
	said() bool
	over(base nested)
}

// measure is a kind of number: how it is written, the end of its key in JSON, which
// tells the unit, and its range.
type measure struct {
	parse     func(string) (float64, error)
	format    func(float64) string
	unit      string
	low, high float64
	above0    bool // nobody may say 0, which is what is not said and means something else
}

// above0 is a measure of which 0 is refused when somebody says it.
func above0(m measure) measure {
	m.above0 = true
	return m
}

func count(low, high float64) measure {
	return measure{parse: wholeNumber, format: formatNumber, low: low, high: high}
}

func amount(low, high float64) measure {
	return measure{parse: number, format: formatNumber, low: low, high: high}
}

var (
	memory = measure{unit: "_bytes", low: 1, high: 1 << 50, format: formatBytes,
		parse: func(s string) (float64, error) { n, err := units.ParseBytes(s); return float64(n), err }}
	bandwidth = measure{parse: units.ParseBandwidth, unit: "_bytes_per_s", low: 1, high: 1e15,
		format: func(v float64) string { return formatBytes(v) + "/s" }}
)

// period is a time of up to a limit.
func period(limit time.Duration) measure {
	return measure{
		unit: "_s", high: float64(limit),
		parse:  func(s string) (float64, error) { d, err := units.ParseDuration(s); return float64(d), err },
		format: func(v float64) string { return time.Duration(v).String() },
	}
}

// wholeNumber reads a number of things, such as 8k.
func wholeNumber(s string) (float64, error) {
	v, err := units.ParseCount(s)
	if err == nil && v != math.Trunc(v) {
		err = fmt.Errorf("%s is not a whole number", s)
	}
	return v, err
}

// formatBytes writes an amount in the largest unit in which it is a whole number.
func formatBytes(v float64) string {
	for _, unit := range []struct {
		name  string
		bytes float64
	}{{"TB", 1e12}, {"GB", 1e9}, {"GiB", 1 << 30}, {"MB", 1e6}, {"MiB", 1 << 20}, {"kB", 1e3}, {"KiB", 1 << 10}} {
		if n := v / unit.bytes; n >= 1 && n == math.Trunc(n) && n < 1e6 {
			return strconv.FormatFloat(n, 'f', 0, 64) + unit.name
		}
	}
	return formatNumber(v) + "B"
}

// number is the value of a slot that holds one.
func (s slot) number() (v float64, ok bool) {
	switch p := s.to.(type) {
	case *int:
		return float64(*p), true
	case *int64:
		return float64(*p), true
	case *float64:
		return *p, true
	case *time.Duration:
		return float64(*p), true
	case **time.Duration:
		return float64(deref(*p)), true
	case **uint64:
		return float64(deref(*p)), true
	}
	return 0, false
}

// deref is what a pointer points to, or zero.
func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// set reads a word into the slot.
func (s slot) set(text string) error {
	text = strings.TrimSpace(text)
	switch p := s.to.(type) {
	case *string:
		if text = toggle(text, s.words); s.words != nil && !slices.Contains(s.words, text) {
			return unknown("word", text, s.words, "expected "+strings.Join(s.words, " or "))
		}
		*p = text
		return s.check()
	case *bool:
		word := toggle(text, onOff)
		if !slices.Contains(onOff, word) {
			return unknown("word", text, onOff, "expected on or off")
		}
		*p = word == "on"
		return nil
	case nested:
		return fmt.Errorf("expected keys of its own, got %q", text)
	}
	v, err := s.as.parse(text)
	if err == nil && v == 0 && s.as.above0 {
		err = fmt.Errorf("%s is none; expected more than 0, or leave it out", text)
	}
	if err == nil {
		err = s.as.check(v)
	}
	if err != nil {
		return err
	}
	switch p := s.to.(type) {
	case *int:
		*p = int(v)
	case *int64:
		*p = int64(v)
	case *float64:
		*p = v
	case *time.Duration:
		*p = time.Duration(v)
	case **time.Duration:
		*p = new(time.Duration(v))
	case **uint64:
		*p = new(uint64(v))
	}
	return nil
}

// check reports a number out of range.
func (m measure) check(v float64) error {
	if !(v >= m.low && v <= m.high) {
		return fmt.Errorf("%s is outside %s to %s", m.format(v), m.format(m.low), m.format(m.high))
	}
	return nil
}

var onOff = []string{"on", "off"}

// toggle takes true and false for on and off.
func toggle(text string, words []string) string {
	if slices.Contains(words, "on") {
		switch text {
		case "true", "yes":
			return "on"
		case "false", "no":
			return "off"
		}
	}
	return text
}

// check reports a value out of range; zero is one that was not said.
func (s slot) check() error {
	if v, ok := s.number(); ok {
		if v == 0 {
			return nil
		}
		return s.as.check(v)
	}
	p, ok := s.to.(*string)
	switch {
	case !ok || *p == "":
		return nil
	case s.words != nil && !slices.Contains(s.words, *p):
		return unknown("word", *p, s.words, "expected "+strings.Join(s.words, " or "))
	case len(*p) > longestName || strings.ContainsFunc(*p, func(r rune) bool { return r < ' ' || r == 0x7f || r == '�' }):
		return fmt.Errorf("%.60q is no name", *p)
	}
	return nil
}

// said reports whether the slot has a value.
func (s slot) said() bool {
	switch p := s.to.(type) {
	case *string:
		return *p != ""
	case *bool:
		return *p
	case nested:
		return p.said()
	case **time.Duration:
		return *p != nil
	case **uint64:
		return *p != nil
	}
	v, _ := s.number()
	return s.always || v != 0
}

// text is the value as set reads it.
func (s slot) text() string {
	switch p := s.to.(type) {
	case *string:
		return *p
	case *bool:
		return map[bool]string{true: "on", false: "off"}[*p]
	}
	v, _ := s.number()
	return s.as.format(v)
}

// checkSlots reports the first value out of range.
func checkSlots(s section) error {
	for _, slot := range s.slots() {
		if err := slot.check(); err != nil {
			return fmt.Errorf("%s: %w", slot.name, err)
		}
	}
	return nil
}

// said reports whether anything of a section was said.
func said(s section) bool {
	return slices.ContainsFunc(s.slots(), slot.said)
}

// overlay takes from base what s leaves unsaid. Both are sections of one type.
func overlay(s, base section) {
	from := base.slots()
	for i, slot := range s.slots() {
		if n, ok := slot.to.(nested); ok {
			n.over(from[i].to.(nested))
			continue
		}
		if slot.said() {
			continue
		}
		switch p := slot.to.(type) {
		case *int:
			*p = *from[i].to.(*int)
		case *int64:
			*p = *from[i].to.(*int64)
		case *float64:
			*p = *from[i].to.(*float64)
		case *time.Duration:
			*p = *from[i].to.(*time.Duration)
		case *bool:
			*p = *from[i].to.(*bool)
		case *string:
			*p = *from[i].to.(*string)
		case **time.Duration:
			*p = *from[i].to.(**time.Duration)
		case **uint64:
			*p = *from[i].to.(**uint64)
		}
	}
}
