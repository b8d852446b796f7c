package route

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// told spells a plan: the choices with their reasons, then what was left out.
func told(c *Chooser, p Plan) string {
	var words []string
	name := func(i int, fallback bool) string { return c.target(i, fallback).Name }
	for _, k := range p.Choices {
		words = append(words, fmt.Sprintf("%s:%s", name(k.Target, k.Fallback), k.Reason))
	}
	words = append(words, "|")
	for _, l := range p.Left {
		words = append(words, strings.TrimSuffix(fmt.Sprintf("%s:%s:%s", name(l.Target, l.Fallback), l.Why, l.Need), ":"))
	}
	return strings.Join(words, " ")
}

func TestChoose(t *testing.T) {
	small := Target{Name: "small", Weight: 1, Context: 8000, Capabilities: []string{"tools"}, InputUSD: 1e-7, OutputUSD: 2e-7}
	large := Target{Name: "large", Weight: 1, Context: 100_000, InputUSD: 1e-5, OutputUSD: 3e-5}
	off := Target{Name: "off"}
	canary := Target{Name: "canary", Weight: 1, Canary: true}
	batch := Target{Name: "batch", Weight: 1, Classes: []string{"batch"}}
	beta := Target{Name: "beta", Weight: 1, Flag: "beta"}
	vendor := Target{Name: "vendor", Context: 4000, TokensFactor: 1.5}
	foreign := Target{Name: "foreign", Weight: 1, Kind: "foreign"}
	flags := []Flag{{Name: "beta", Tenants: []string{"early"}}}
	tests := []struct {
		name     string
		alias    Alias
		features Features
		want     string
	}{
		{"no words for it", Alias{Targets: []Target{small, foreign}, Fallbacks: []Target{foreign, vendor}}, Features{Unfit: []string{"letters", "foreign"}}, "small:weight vendor:fallback | foreign:provider foreign:provider"},
		{"no words for it at the target: the fallback serves", Alias{Targets: []Target{foreign}, Fallbacks: []Target{vendor}}, Features{Unfit: []string{"foreign"}}, "vendor:fallback | foreign:provider"},
		{"too long by the estimate where there are words for it", Alias{Targets: []Target{foreign, small}}, Features{Input: 9000, Unfit: []string{"foreign"}}, "small:nearly_full | foreign:provider"},
		{"one target", Alias{Targets: []Target{small}}, Features{}, "small:weight |"},
		{"one without weight is not there", Alias{Targets: []Target{off, small}}, Features{}, "small:weight |"},
		{"fallbacks follow", Alias{Targets: []Target{small}, Fallbacks: []Target{vendor, large}}, Features{}, "small:weight vendor:fallback large:fallback |"},
		{"too long for one", Alias{Targets: []Target{small, large}}, Features{Input: 8000, Output: 1}, "large:weight | small:context"},
		{"just fits", Alias{Targets: []Target{small}}, Features{Input: 7000, Output: 1000}, "small:weight |"},
		{"too long for the target: the fallback serves", Alias{Targets: []Target{small}, Fallbacks: []Target{large}}, Features{Input: 9000}, "large:fallback | small:context"},
		{"a fallback counts tokens in its own way", Alias{Targets: []Target{small}, Fallbacks: []Target{vendor}}, Features{Input: 3000}, "small:weight | vendor:context"},
		{"a fallback that cannot take the tools is skipped", Alias{Targets: []Target{large}, Fallbacks: []Target{{Name: "plain", Capabilities: []string{}}, vendor}}, Features{Needs: []string{"tools"}}, "large:weight vendor:fallback | plain:capability:tools"},
		{"a capability that is not known to be lacking", Alias{Targets: []Target{large}}, Features{Needs: []string{"vision"}}, "large:weight |"},
		{"a capability that is lacking", Alias{Targets: []Target{small, large}}, Features{Needs: []string{"tools", "vision"}}, "large:weight | small:capability:vision"},
		{"the other class", Alias{Targets: []Target{small, batch}}, Features{Class: "interactive"}, "small:weight | batch:class"},
		{"the flag is off", Alias{Targets: []Target{small, beta}, Flags: flags}, Features{Tenant: "other"}, "small:weight | beta:flag"},
		{"the flag is on", Alias{Targets: []Target{small, beta}, Flags: flags}, Features{Tenant: "early"}, "beta:flag small:spare |"},
		{"an unknown flag is off", Alias{Targets: []Target{small, beta}}, Features{Tenant: "early"}, "small:weight | beta:flag"},
		{"only the canary can", Alias{Targets: []Target{small, canary}}, Features{Needs: []string{"vision"}}, "canary:canary | small:capability:vision"},
		{"above the ceiling", Alias{Targets: []Target{small, large}, Ceiling: 0.01, Complex: 0.5}, Features{Input: 2000, MostOutput: 1000}, "small:weight | large:cost"},
		{"above the ceiling, complex", Alias{Targets: []Target{small, large}, Ceiling: 0.01, Complex: 0.5}, Features{Input: 2000, MostOutput: 1000, Complexity: 0.5}, "large:complexity small:spare |"},
		{"all above the ceiling", Alias{Targets: []Target{large, small}, Ceiling: 1e-9, Complex: 0.5}, Features{Input: 2000, MostOutput: 1000}, "small:cheapest | large:cost"},
		{"all above the ceiling, complex", Alias{Targets: []Target{small, large}, Ceiling: 1e-9, Complex: 0.5}, Features{Input: 2000, MostOutput: 1000, Complexity: 0.5}, "large:complexity small:spare |"},
		{"all above the ceiling at one price, complex", Alias{Targets: []Target{large}, Ceiling: 1e-9, Complex: 0.5}, Features{Input: 2000, MostOutput: 1000, Complexity: 0.5}, "large:weight |"},
		{"none above the ceiling, complex", Alias{Targets: []Target{small}, Ceiling: 0.01, Complex: 0.5}, Features{Input: 2000, MostOutput: 1000, Complexity: 0.5}, "small:weight |"},
		{"the ceiling is not for fallbacks", Alias{Targets: []Target{small}, Fallbacks: []Target{large}, Ceiling: 0.01, Complex: 0.5}, Features{Input: 2000, MostOutput: 1000}, "small:weight large:fallback |"},
		{"a fallback that is a target", Alias{Targets: []Target{small}, Fallbacks: []Target{small, vendor, vendor}}, Features{}, "small:weight vendor:fallback | small:twice vendor:twice"},
		{"too long by the estimate alone", Alias{Targets: []Target{small}, Fallbacks: []Target{vendor}}, Features{Input: 9000}, "small:nearly_full | vendor:context"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := NewChooser(test.alias)
			p, err := c.Choose(&test.features)
			if err != nil {
				t.Fatal(err)
			}
			if got := told(c, p); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	targets := []Target{
		{Name: "a", Weight: 1, Context: 1000, Capabilities: []string{"tools"}},
		{Name: "b", Weight: 1, Context: 2000, Capabilities: []string{"tools"}, TokensFactor: 2},
		{Name: "c", Weight: 1, Classes: []string{"batch"}},
		{Name: "d", Weight: 1, Flag: "off"},
	}
	tests := []struct {
		name     string
		targets  []Target
		features Features
		want     Refusal
		text     string
	}{
		{"too long for all: the largest is named", targets[:2], Features{Input: 3000, Output: 500}, Refusal{Why: TooLong, Limit: 2000, Input: 6000, Output: 500},
			"this model's maximum context length is 2000 tokens, the request has about 6500: 6000 in the prompt and 500 for the answer"},
		{"lacking", targets[:2], Features{Input: 3000, Needs: []string{"vision"}}, Refusal{Why: NoCapability, Need: "vision"}, "this model does not support vision"},
		{"the class", targets[2:], Features{Class: "interactive"}, Refusal{Why: OtherClass, Class: "interactive"}, `this model does not serve requests of the class "interactive"`},
		{"the flag", targets[3:], Features{}, Refusal{Why: FlagOff}, "no such model"},
		{"what came nearest", targets, Features{Class: "interactive", Input: 9000}, Refusal{Why: TooLong, Limit: 2000, Input: 18000}, ""},
		{"no words for it", []Target{{Name: "e", Weight: 1, Kind: "foreign"}}, Features{Unfit: []string{"foreign"}}, Refusal{Why: Inexpressible, Kind: "foreign"}, "this model's provider has no words for what the request asks for"},
		{"nothing there", nil, Features{}, Refusal{Why: FlagOff}, "no such model"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewChooser(Alias{Targets: test.targets}).Choose(&test.features)
			refusal, ok := errors.AsType[*Refusal](err)
			if !ok {
				t.Fatalf("error %v, want a refusal", err)
			}
			if diff := cmp.Diff(test.want, *refusal); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if test.text != "" && refusal.Error() != test.text {
				t.Errorf("says %q, want %q", refusal, test.text)
			}
		})
	}
}

// pick makes any set of words, or nil.
func pick(t *rapid.T, label string, from ...string) []string {
	if rapid.Bool().Draw(t, label+" unknown") {
		return nil
	}
	return rapid.SliceOfDistinct(rapid.SampledFrom(from), rapid.ID[string]).Draw(t, label)
}

// drawTarget makes any target.
func drawTarget(t *rapid.T, i int) Target {
	return Target{
		Name:         rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name") + fmt.Sprint(i%2),
		Weight:       rapid.IntRange(0, 3).Draw(t, "weight"),
		Canary:       rapid.Bool().Draw(t, "canary"),
		Capabilities: pick(t, "capabilities", "tools", "vision"),
		Classes:      pick(t, "classes", "interactive", "batch"),
		Flag:         rapid.SampledFrom([]string{"", "", "f", "g"}).Draw(t, "flag"),
		Context:      rapid.Int64Range(0, 3000).Draw(t, "context"),
		Kind:         rapid.SampledFrom([]string{"openai", "foreign"}).Draw(t, "kind"),
		TokensFactor: rapid.SampledFrom([]float64{0, 1, 1.3}).Draw(t, "factor"),
		InputUSD:     rapid.Float64Range(0, 1e-5).Draw(t, "input price"),
		OutputUSD:    rapid.Float64Range(0, 1e-5).Draw(t, "output price"),
	}
}

// Whatever the alias and the request: every target is in the plan at most once or
// has a reason not to be; what is in it can serve the request; without any, there
// is a refusal; and the same request gets the same plan.
func TestAPlanKeepsItsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := Alias{
			Name: "alias", Sticky: Sticky(rapid.IntRange(0, 2).Draw(t, "sticky")),
			Flags:   []Flag{{Name: "f", Percent: 50}, {Name: "g", Tenants: []string{"x"}}},
			Ceiling: rapid.SampledFrom([]float64{0, 0.001, 0.01}).Draw(t, "ceiling"), Complex: 0.5,
		}
		for i := range rapid.IntRange(0, 5).Draw(t, "targets") {
			a.Targets = append(a.Targets, drawTarget(t, i))
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "fallbacks") {
			a.Fallbacks = append(a.Fallbacks, drawTarget(t, i))
		}
		f := Features{
			Tenant: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "tenant"), Session: rapid.SampledFrom([]string{"", "s"}).Draw(t, "session"),
			Class: rapid.SampledFrom([]string{"interactive", "batch"}).Draw(t, "class"),
			Needs: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"tools", "vision"}), rapid.ID[string]).Draw(t, "needs"),
			Input: rapid.Int64Range(0, 3000).Draw(t, "input"), Output: rapid.Int64Range(0, 1000).Draw(t, "output"),
			Unfit:      pick(t, "unfit", "openai", "foreign"),
			Complexity: rapid.Float64Range(0, 1).Draw(t, "complexity"), Draw: rapid.Uint64().Draw(t, "draw"),
		}
		f.MostOutput = 2 * f.Output
		c := NewChooser(a)
		p, err := c.Choose(&f)
		if (err != nil) != (len(p.Choices) == 0) {
			t.Fatalf("error %v with choices %v", err, p.Choices)
		}
		type id struct {
			target   int
			fallback bool
		}
		seen, names := map[id]bool{}, map[string]bool{}
		for n, k := range p.Choices {
			target := c.target(k.Target, k.Fallback)
			if seen[id{k.Target, k.Fallback}] || k.Fallback && names[target.Name] {
				t.Fatalf("%s is planned twice", target.Name)
			}
			seen[id{k.Target, k.Fallback}], names[target.Name] = true, true
			if !k.Fallback && target.Weight < 1 {
				t.Fatalf("%s is switched off", target.Name)
			}
			if n > 0 && target.Canary && !k.Fallback {
				t.Fatalf("the canary %s is a spare", target.Name)
			}
			if n > 0 && !k.Fallback && p.Choices[n-1].Fallback {
				t.Fatal("a target after a fallback")
			}
			if target.Capabilities != nil && slices.ContainsFunc(f.Needs, func(need string) bool { return !slices.Contains(target.Capabilities, need) }) {
				t.Fatalf("%s lacks a capability", target.Name)
			}
			if slices.Contains(f.Unfit, target.Kind) {
				t.Fatalf("%s has no words for the request", target.Name)
			}
			if k.Reason != NearlyFull && target.Context > 0 && f.tokens(target) > target.Context {
				t.Fatalf("%s is too small", target.Name)
			}
			dear := a.Ceiling > 0 && f.cost(target) > a.Ceiling
			if dear && f.Complexity < a.Complex && !k.Fallback && k.Reason != Cheapest && k.Reason != NearlyFull {
				t.Fatalf("%s is above the ceiling", target.Name)
			}
		}
		for _, l := range p.Left {
			if seen[id{l.Target, l.Fallback}] {
				t.Fatalf("%s is planned and left out", c.target(l.Target, l.Fallback).Name)
			}
			seen[id{l.Target, l.Fallback}] = true
		}
		on := len(a.Fallbacks)
		for _, target := range a.Targets {
			if target.Weight > 0 {
				on++
			}
		}
		if len(seen) != on {
			t.Fatalf("%d of %d targets are in the plan or left out", len(seen), on)
		}
		again, _ := NewChooser(a).Choose(&f)
		if diff := cmp.Diff(p, again); diff != "" {
			t.Fatalf("another plan the second time:\n%s", diff)
		}
	})
}

// Also where all costs more than the ceiling, a complex request never goes to the
// cheapest first, whatever is drawn, and an ordinary one always does.
func TestComplexRequestsGoToDearTargetsWhateverIsDrawn(t *testing.T) {
	cheap := Target{Name: "cheap", Weight: 99, OutputUSD: 1e-6}
	dear := Target{Name: "dear", Weight: 1, OutputUSD: 1e-5}
	for _, ceiling := range []float64{1e-9, 2e-3} { // below both, and between them
		c := NewChooser(Alias{Targets: []Target{cheap, dear}, Ceiling: ceiling, Complex: 0.5})
		for i := range 200 {
			for complexity, want := range map[float64]int{0.4: 0, 0.6: 1} {
				p, err := c.Choose(&Features{MostOutput: 1000, Complexity: complexity, Draw: uint64(i) << 56})
				if err != nil || p.Choices[0].Target != want {
					t.Fatalf("ceiling %g, complexity %g, draw %d: %s, %v", ceiling, complexity, i, told(c, p), err)
				}
			}
		}
	}
}

func BenchmarkChoose(b *testing.B) {
	c := NewChooser(Alias{
		Name: "assistant", Sticky: ByTenant, Ceiling: 0.01, Complex: 0.5,
		Targets:   []Target{{Name: "a", Weight: 95, Context: 8192, Capabilities: []string{"tools"}}, {Name: "b", Weight: 5, Canary: true}},
		Fallbacks: []Target{{Name: "c", Context: 128_000}},
	})
	f := Features{Tenant: "search", Class: "interactive", Needs: []string{"tools"}, Input: 1500, Output: 500, MostOutput: 500}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Choose(&f); err != nil {
			b.Fatal(err)
		}
	}
}
