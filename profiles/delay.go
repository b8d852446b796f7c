package profiles

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
)

// maxDelay bounds times of workloads: what is longer than a month is a mistake.
const maxDelay = 31 * 24 * time.Hour

// delayParameters names the parameters of each kind of delay, all of which must
// be given.
var delayParameters = map[DistributionKind][]string{
	Fixed:       {"mean"},
	Uniform:     {"min", "max"},
	Normal:      {"mean", "stddev"},
	Lognormal:   {"mean", "p99"},
	Exponential: {"mean"},
}

// delayKinds are the kinds that a delay can have, in the order in which they are
// listed.
var delayKinds = []string{string(Fixed), string(Uniform), string(Normal), string(Lognormal), string(Exponential)}

// ParseDelay reads a distribution of times:
//
//	delay     = duration | kind ":" parameter { "," parameter }
//	kind      = "fixed" | "uniform" | "normal" | "lognormal" | "exponential"
//	parameter = ("mean" | "stddev" | "p99" | "min" | "max") "=" duration
//
// such as 8s, exponential:mean=8s or uniform:min=1s,max=3s.
func ParseDelay(s string) (Delay, error) {
	kind, rest, named := strings.Cut(strings.TrimSpace(s), ":")
	if !named {
		mean, err := units.ParseDuration(kind)
		if err != nil {
			return Delay{}, fmt.Errorf("parsing delay %q, expected a time like 8s, or like exponential:mean=8s", s)
		}
		d := Delay{Kind: Fixed, Mean: mean}
		return d, wrapParse("delay", s, d.Validate())
	}
	parameters := map[string]time.Duration{}
	err := eachPair(rest, func(name, text string) (err error) {
		parameters[name], err = units.ParseDuration(text)
		return err
	})
	if err != nil {
		return Delay{}, wrapParse("delay", s, err)
	}
	d, err := newDelay(DistributionKind(kind), parameters)
	return d, wrapParse("delay", s, err)
}

// newDelay builds a delay from named parameters and checks it.
func newDelay(kind DistributionKind, parameters map[string]time.Duration) (Delay, error) {
	names, ok := delayParameters[kind]
	if !ok {
		return Delay{}, unknown("distribution of times", string(kind), delayKinds, "expected one of "+strings.Join(delayKinds, ", "))
	}
	d := Delay{Kind: kind}
	for _, name := range sortedKeys(parameters) {
		if !slices.Contains(names, name) {
			return Delay{}, fmt.Errorf("%s has no parameter %q, expected %s", kind, name, strings.Join(names, " and "))
		}
		*d.parameter(name) = parameters[name]
	}
	for _, name := range names {
		if _, ok := parameters[name]; !ok {
			return Delay{}, fmt.Errorf("%s needs %s", kind, strings.Join(names, " and "))
		}
	}
	return d, d.Validate()
}

// parameter returns the field of a parameter's name.
func (d *Delay) parameter(name string) *time.Duration {
	switch name {
	case "mean":
		return &d.Mean
	case "stddev":
		return &d.StdDev
	case "p99":
		return &d.P99
	case "min":
		return &d.Min
	default:
		return &d.Max
	}
}

// Validate reports the first parameter that makes no sense. The zero Delay is
// none and is fine.
func (d Delay) Validate() error {
	if d == (Delay{}) {
		return nil
	}
	names, ok := delayParameters[d.Kind]
	if !ok {
		return fmt.Errorf("distribution of times %q is not known", d.Kind)
	}
	for _, name := range names {
		if v := *d.parameter(name); v < 0 || v > maxDelay || v == 0 && name != "stddev" && name != "min" {
			return fmt.Errorf("%s %s is outside 0 to %s", name, v, maxDelay)
		}
	}
	switch {
	case d.Kind == Uniform && d.Max < d.Min:
		return fmt.Errorf("max %s is below min %s", d.Max, d.Min)
	case d.Kind == Lognormal && d.P99 < d.Mean:
		return fmt.Errorf("p99 %s is below mean %s", d.P99, d.Mean)
	case d.Kind == Lognormal && math.Log(float64(d.P99)/float64(d.Mean)) >= z99*z99/2:
		return fmt.Errorf("p99 %s is too far above mean %s: no lognormal distribution has both (at most %s times the mean)",
			d.P99, d.Mean, units.Number(math.Exp(z99*z99/2)))
	}
	return nil
}

// Average is the mean time; 0 for the zero Delay.
func (d Delay) Average() time.Duration {
	if d.Kind == Uniform {
		return d.Min + (d.Max-d.Min)/2
	}
	return d.Mean
}

// String writes the delay as ParseDelay reads it; "" for none.
func (d Delay) String() string {
	if d.Kind == "" {
		return ""
	}
	if d.Kind == Fixed {
		return d.Mean.String()
	}
	var parts []string
	for _, name := range delayParameters[d.Kind] {
		parts = append(parts, name+"="+d.parameter(name).String())
	}
	return string(d.Kind) + ":" + strings.Join(parts, ",")
}

func (d *Delay) readYAML(node *yaml.Node) (err error) {
	if node.Kind == yaml.ScalarNode {
		return into(d, ParseDelay)(node)
	}
	kind, value, err := onlyPair(node, "a time like 8s, or one distribution like { exponential: { mean: 8s } }")
	if err != nil {
		return err
	}
	if value.Kind == yaml.ScalarNode && kind == Fixed {
		return into(d, ParseDelay)(value)
	}
	parameters := map[string]time.Duration{}
	var keys []key
	for _, name := range []string{"mean", "stddev", "p99", "min", "max"} {
		keys = append(keys, key{name, func(n *yaml.Node) (err error) {
			text, err := scalar(n)
			if err == nil {
				parameters[name], err = units.ParseDuration(text)
			}
			return err
		}})
	}
	if err := readMapping(value, string(kind), keys...); err != nil {
		return err
	}
	*d, err = newDelay(kind, parameters)
	return err
}

// yaml writes the delay as readYAML reads it; nil for none.
func (d Delay) yaml() *yaml.Node {
	switch d.Kind {
	case "":
		return nil
	case Fixed:
		return scalarNode(d.Mean.String())
	}
	parameters := mapping{}
	for _, name := range delayParameters[d.Kind] {
		parameters = append(parameters, pair{name, scalarNode(d.parameter(name).String())})
	}
	out := mapping{}
	out.nested(string(d.Kind), parameters)
	return out.node()
}
