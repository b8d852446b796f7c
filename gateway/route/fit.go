package route

import (
	"fmt"
	"slices"
)

// Obstacle says why a target is left out of a plan.
type Obstacle string

const (
	FlagOff       Obstacle = "flag"
	OtherClass    Obstacle = "class"
	NoCapability  Obstacle = "capability"
	Inexpressible Obstacle = "provider" // its provider's protocol has no words for the request
	TooLong       Obstacle = "context"
	AboveCeiling  Obstacle = "cost"
	NotDrawn      Obstacle = "canary" // its share was not drawn, and it is no spare
	Twice         Obstacle = "twice"  // in the plan already
	OverBudget    Obstacle = "budget" // left out later, by whoever knows what is left of one
)

// far orders obstacles by how much of a target was right: a refusal speaks of the
// one that the request came nearest to.
var far = []Obstacle{FlagOff, OtherClass, NoCapability, Inexpressible, TooLong}

// obstacle returns why a target can not serve the request, or nothing. A need that
// is lacking comes with it.
func (c *Chooser) obstacle(t *Target, f *Features, key uint64) (why Obstacle, need string) {
	if t.Flag != "" {
		if flag := c.flags[t.Flag]; flag == nil || !flag.on(f.Tenant, key) {
			return FlagOff, ""
		}
	}
	if t.Classes != nil && !slices.Contains(t.Classes, f.Class) {
		return OtherClass, ""
	}
	if t.Capabilities != nil {
		for _, need := range f.Needs {
			if !slices.Contains(t.Capabilities, need) {
				return NoCapability, need
			}
		}
	}
	if slices.Contains(f.Unfit, t.Kind) {
		return Inexpressible, ""
	}
	if t.Context > 0 && f.tokens(t) > t.Context {
		return TooLong, ""
	}
	return "", ""
}

// squeeze plans the target with the most room, when a request is too long for all
// by the gateway's estimate but may not be by the engine's count.
func (c *Chooser) squeeze(p *Plan, f *Features) bool {
	best, room := -1, 0.0
	for i, l := range p.Left {
		t := c.target(l.Target, l.Fallback)
		least := float64(t.count(f.Input))/slack + float64(f.Output)
		if l.Why == TooLong && float64(t.Context)-least >= room {
			best, room = i, float64(t.Context)-least
		}
	}
	if best < 0 {
		return false
	}
	l := p.Left[best]
	p.Left = slices.Delete(p.Left, best, best+1)
	p.Choices = append(p.Choices, Choice{Target: l.Target, Fallback: l.Fallback, Reason: NearlyFull})
	return true
}

// Refusal is the error for a request that no target of its alias can serve. Its
// text is for the client, and names no target.
type Refusal struct {
	Why    Obstacle // of the target that came nearest; FlagOff also when there is no target at all
	Need   string   // with NoCapability: what was lacking
	Class  string   // with OtherClass: the request's
	Kind   string   // with Inexpressible: the provider's
	Limit  int64    // with TooLong: tokens that fit at most
	Input  int64    // with TooLong: tokens of the prompt, as the target counts them
	Output int64    // with TooLong: tokens that the request asks for
}

func (r *Refusal) Error() string {
	switch r.Why {
	case TooLong:
		return fmt.Sprintf("this model's maximum context length is %d tokens, the request has about %d: %d in the prompt and %d for the answer",
			r.Limit, r.Input+r.Output, r.Input, r.Output)
	case NoCapability:
		return fmt.Sprintf("this model does not support %s", r.Need)
	case Inexpressible:
		return "this model's provider has no words for what the request asks for"
	case OtherClass:
		return fmt.Sprintf("this model does not serve requests of the class %q", r.Class)
	}
	return "no such model"
}

// refuse describes why nothing is left, by the target that came nearest.
func (c *Chooser) refuse(p *Plan, f *Features) *Refusal {
	r := &Refusal{Why: FlagOff}
	for _, l := range p.Left {
		t := c.target(l.Target, l.Fallback)
		switch n, best := slices.Index(far, l.Why), slices.Index(far, r.Why); {
		case n < best, n == best && (l.Why != TooLong || t.Context <= r.Limit):
			continue
		}
		*r = Refusal{Why: l.Why, Need: l.Need}
		switch l.Why {
		case OtherClass:
			r.Class = f.Class
		case Inexpressible:
			r.Kind = t.Kind
		case TooLong:
			r.Limit, r.Input, r.Output = t.Context, t.count(f.Input), f.Output
		}
	}
	return r
}
