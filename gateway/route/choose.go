package route

import (
	"cmp"
	"slices"
	"strconv"
)

// Chooser chooses among the targets of one alias.
type Chooser struct {
	alias Alias
	seeds []uint64         // of targets
	flags map[string]*Flag // by name
}

// NewChooser returns the chooser of an alias. A target that names an unknown flag
// is never chosen.
func NewChooser(a Alias) *Chooser {
	c := &Chooser{alias: a, flags: map[string]*Flag{}}
	times := map[string]int{}
	for _, t := range a.Targets {
		c.seeds = append(c.seeds, seed("target", a.Name, t.Name, strconv.Itoa(times[t.Name])))
		times[t.Name]++
	}
	for i := range a.Flags {
		c.flags[a.Flags[i].Name] = &a.Flags[i]
	}
	return c
}

// Reason says why a target is in a plan.
type Reason string

const (
	Drawn      Reason = "weight"     // drawn among all that fit
	Canary     Reason = "canary"     // drawn, and a canary
	Flagged    Reason = "flag"       // the request's flag is on
	Complex    Reason = "complexity" // above the ceiling, and the request is complex enough
	Cheapest   Reason = "cheapest"   // all are above the ceiling
	Spare      Reason = "spare"      // another target of the alias, should those before it fail
	Fallback   Reason = "fallback"   // one of the alias's fallbacks, should all before it fail
	NearlyFull Reason = "nearly_full"
)

// Choice is a target that may serve the request.
type Choice struct {
	Target   int  // index into the alias's targets, or its fallbacks
	Fallback bool // which of the two
	Reason   Reason
}

// Left is a target that may not, and why.
type Left struct {
	Target   int
	Fallback bool
	Why      Obstacle
	Need     string // with NoCapability: which one
}

// Plan is the targets to try, in order, each at most once, and those left out.
type Plan struct {
	Choices []Choice
	Left    []Left
}

// slack is how far the gateway's estimate of a prompt may be above what the
// prompt has, for a request to be sent although it seems too long everywhere. The
// engine counts exactly, and refuses it then.
const slack = 1.25

// Choose returns the plan for a request, or a *Refusal when no target is left.
//
// Targets come first: one for which a flag is on before those without a flag, with
// a ceiling and a complex request those above the ceiling before those below, and
// else as drawn by weight. The next ones are spares; canaries that were not drawn
// are no spares, since the failures of others would then count as theirs.
// Fallbacks follow as configured. The ceiling does not hold for them: a failure
// costs more.
func (c *Chooser) Choose(f *Features) (Plan, error) {
	var p Plan
	key := c.alias.Sticky.key(f)
	fit := make([]candidate, 0, 8)
	for i := range c.alias.Targets {
		t := &c.alias.Targets[i]
		if t.Weight < 1 {
			continue
		}
		if why, need := c.obstacle(t, f, key); why != "" {
			p.Left = append(p.Left, Left{Target: i, Why: why, Need: need})
			continue
		}
		fit = append(fit, c.candidate(i, f, key))
	}
	fit = c.affordable(fit, f, &p)
	slices.SortFunc(fit, candidate.compare)
	p.Choices = make([]Choice, 0, len(fit)+len(c.alias.Fallbacks))
	for n, t := range fit {
		if n > 0 && t.canary {
			p.Left = append(p.Left, Left{Target: t.index, Why: NotDrawn})
			continue
		}
		if n > 0 {
			t.reason = Spare
		}
		p.Choices = append(p.Choices, Choice{Target: t.index, Reason: t.reason})
	}
	c.fallBack(&p, f, key)
	if len(p.Choices) == 0 && !c.squeeze(&p, f) {
		return p, c.refuse(&p, f)
	}
	return p, nil
}

// candidate is a target that fits, with its place in the order.
type candidate struct {
	index  int
	tier   int // smaller goes first
	rank   float64
	cost   float64
	canary bool
	reason Reason
}

func (a candidate) compare(b candidate) int {
	return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.rank, b.rank))
}

func (c *Chooser) candidate(i int, f *Features, key uint64) candidate {
	t := &c.alias.Targets[i]
	k := candidate{index: i, tier: 2, cost: f.cost(t), canary: t.Canary, reason: Drawn}
	k.rank = rank(key, c.seeds[i], t.Weight)
	if t.Canary {
		k.reason = Canary
	}
	if t.Flag != "" {
		k.tier, k.reason = 0, Flagged
	}
	return k
}

// affordable applies the ceiling: what is above it is for complex requests, and
// for these it goes first. When all is above it, the ceiling is where the cheapest
// is: others get that one, and complex requests what costs more first.
func (c *Chooser) affordable(fit []candidate, f *Features, p *Plan) []candidate {
	if c.alias.Ceiling == 0 || len(fit) == 0 {
		return fit
	}
	cheapest := slices.MinFunc(fit, func(a, b candidate) int { return cmp.Or(cmp.Compare(a.cost, b.cost), a.compare(b)) })
	if f.Complexity >= c.alias.Complex {
		dearFirst(fit, max(c.alias.Ceiling, cheapest.cost))
		return fit
	}
	fits := func(k candidate) bool { return k.cost <= c.alias.Ceiling }
	if !fits(cheapest) {
		fits = func(k candidate) bool { return k.index == cheapest.index }
		fit[slices.IndexFunc(fit, fits)].reason = Cheapest
	}
	return slices.DeleteFunc(fit, func(k candidate) bool {
		if fits(k) {
			return false
		}
		p.Left = append(p.Left, Left{Target: k.index, Why: AboveCeiling})
		return true
	})
}

// dearFirst puts what is above the ceiling before what is not.
func dearFirst(fit []candidate, ceiling float64) {
	for i := range fit {
		switch {
		case fit[i].cost <= ceiling:
			fit[i].tier++
		case fit[i].reason == Drawn:
			fit[i].reason = Complex
		}
	}
}

// fallBack appends the fallbacks that fit.
func (c *Chooser) fallBack(p *Plan, f *Features, key uint64) {
	for i := range c.alias.Fallbacks {
		t := &c.alias.Fallbacks[i]
		why, need := c.obstacle(t, f, key)
		if why == "" && c.planned(p, t.Name) {
			why = Twice
		}
		if why != "" {
			p.Left = append(p.Left, Left{Target: i, Fallback: true, Why: why, Need: need})
			continue
		}
		p.Choices = append(p.Choices, Choice{Target: i, Fallback: true, Reason: Fallback})
	}
}

func (c *Chooser) planned(p *Plan, name string) bool {
	return slices.ContainsFunc(p.Choices, func(k Choice) bool { return c.target(k.Target, k.Fallback).Name == name })
}

func (c *Chooser) target(i int, fallback bool) *Target {
	if fallback {
		return &c.alias.Fallbacks[i]
	}
	return &c.alias.Targets[i]
}
