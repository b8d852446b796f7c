package grammar

import (
	"context"
	"fmt"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds of what a grammar may cost. They hold memory to some tens of MiB and
// compilation to about a second, whatever a client sends.
const (
	maxText         = 1 << 20   // bytes of a schema, a pattern or of all choices
	maxNesting      = 200       // levels of a schema's own JSON
	maxRules        = 1 << 14   // values that are described apart
	maxAlternatives = 1 << 10   // branches that are left of anyOf and allOf together
	maxEdges        = 1 << 19   // of all rules, before they are made deterministic
	maxStates       = 1 << 17   // of all rules, after that
	maxBranches     = 1 << 20   // of one rule, while it is made so
	maxCells        = 1 << 22   // of all transition tables
	depthOfNesting  = 64        // objects and arrays within one another in a document
	noRule          = int32(-1) // an edge that reads bytes
	silent          = int32(-2) // an edge that reads nothing
)

// An edge of a draft reads one byte in lo … hi, a whole rule, or nothing.
type draftEdge struct {
	lo, hi byte
	rule   int32
	to     int32
}

// A draft is one rule while it is written: a nondeterministic automaton that begins
// in state 0 and ends in state 1.
type draft struct {
	c         *compiler
	container bool // an object or an array: every recursion passes one
	common    bool // the same in all grammars
	edges     [][]draftEdge
	build     func(*draft)
}

const (
	first = int32(0)
	last  = int32(1)
)

// A compiler writes the rules of one grammar. Its methods leave by panicking with a
// failure, which compile turns into an error: bounds are checked at the bottom of
// deep recursions.
type compiler struct {
	meter    *meter
	rules    []*draft
	index    map[string]int32
	edges    int
	document *document
	options  Options
	expanded map[*value][]set
	crossed  int // pairs of alternatives that were joined
	checkers map[*value]*jsonschema.Schema
}

// A failure is an error on its way out of the compiler.
type failure struct{ err error }

func fail(format string, args ...any) { panic(failure{fmt.Errorf(format, args...)}) }

func tooLarge(format string, args ...any) {
	fail("schema is too large: %s", fmt.Sprintf(format, args...))
}

func newCompiler(ctx context.Context, o Options) *compiler {
	return &compiler{meter: newMeter(ctx), index: map[string]int32{}, expanded: map[*value][]set{}, checkers: map[*value]*jsonschema.Schema{}, options: o}
}

// compile makes a grammar of the rule that root writes and of all that it calls.
func (c *compiler) compile(root func(*draft)) (g *Grammar, err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case failure:
			g, err = nil, f.err
		default:
			panic(f)
		}
	}()
	c.rule("", false, root)
	// Rules are written one after the other, not within one another, so that a chain
	// of references costs no stack. Writing one may add more.
	for i := 0; i < len(c.rules); i++ {
		c.rules[i].build(c.rules[i])
	}
	return assemble(c.rules, c.meter), nil
}

// rule is the number of the rule with a key; build writes it when it is new.
func (c *compiler) rule(key string, container bool, build func(*draft)) int32 {
	if r, ok := c.index[key]; ok {
		return r
	}
	if len(c.rules) == maxRules {
		tooLarge("it describes more than %d values", maxRules)
	}
	r := int32(len(c.rules))
	c.index[key] = r
	c.rules = append(c.rules, &draft{c: c, container: container, build: build, edges: make([][]draftEdge, 2)})
	return r
}

// state adds a state.
func (d *draft) state() int32 {
	d.edges = append(d.edges, nil)
	return int32(len(d.edges) - 1)
}

func (d *draft) add(from int32, e draftEdge) {
	if d.c.edges++; d.c.edges > maxEdges {
		tooLarge("more than %d transitions", maxEdges)
	}
	d.c.meter.spend(1)
	d.edges[from] = append(d.edges[from], e)
}

func (d *draft) skip(from, to int32)       { d.add(from, draftEdge{rule: silent, to: to}) }
func (d *draft) call(from, to, rule int32) { d.add(from, draftEdge{rule: rule, to: to}) }
func (d *draft) byteIn(from, to int32, lo, hi byte) {
	d.add(from, draftEdge{lo: lo, hi: hi, rule: noRule, to: to})
}

// text reads exactly the bytes of s.
func (d *draft) text(from, to int32, s string) {
	if s == "" {
		d.skip(from, to)
		return
	}
	for i := range len(s) {
		next := to
		if i < len(s)-1 {
			next = d.state()
		}
		d.byteIn(from, next, s[i], s[i])
		from = next
	}
}

// then reads exactly s and returns where that leads.
func (d *draft) then(from int32, s string) int32 {
	to := d.state()
	d.text(from, to, s)
	return to
}

// blank reads the white space that may stand where a line may break: nothing or one
// space, and unless it is to be compact, a line break with its indent.
func (d *draft) blank(from int32) int32 {
	to := d.state()
	d.skip(from, to)
	d.call(from, to, d.c.rule("blank", false, func(d *draft) {
		d.byteIn(first, last, ' ', ' ')
		if d.c.options.Compact {
			return
		}
		at := d.then(first, "\n")
		for range maxIndent {
			d.skip(at, last)
			next := d.state()
			d.byteIn(at, next, ' ', ' ')
			at = next
		}
		d.skip(at, last)
	}))
	return to
}

// space reads one space or nothing.
func (d *draft) space(from int32) int32 {
	to := d.state()
	d.skip(from, to)
	d.byteIn(from, to, ' ', ' ')
	return to
}
