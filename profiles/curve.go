package profiles

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
)

// parseCurve reads steps like 1/s*1m,5/s*2m.
func parseCurve(s string) (*Curve, error) {
	c := &Curve{}
	for text := range strings.SplitSeq(s, ",") {
		rate, length, timed := strings.Cut(strings.TrimSpace(text), "*")
		var step Step
		var err error
		if step.RatePerS, err = units.ParseRate(rate); err != nil {
			return nil, fmt.Errorf("parsing step %q, expected one like 5/s*2m", text)
		}
		if timed {
			if step.For, err = units.ParseDuration(length); err != nil {
				return nil, fmt.Errorf("step %q: %w", text, err)
			}
		}
		c.Steps = append(c.Steps, step)
	}
	return c, c.validate()
}

// validate reports the first step that makes no sense. A rate of 0 is a pause;
// the last one, which holds for good, can be none.
func (c *Curve) validate() error {
	if len(c.Steps) == 0 || len(c.Steps) > maxSteps {
		return fmt.Errorf("%d steps are outside 1 to %s", len(c.Steps), units.Count(maxSteps))
	}
	for i, step := range c.Steps {
		last := i == len(c.Steps)-1
		switch {
		case math.IsNaN(step.RatePerS) || step.RatePerS < 0 || step.RatePerS > maxRate:
			return fmt.Errorf("step %d: rate %v/s is outside 0 to 10,000,000/s", i+1, step.RatePerS)
		case last && step.RatePerS == 0:
			return fmt.Errorf("step %d: the last rate holds for good and must be above 0", i+1)
		case step.For < 0 || step.For > maxDelay || step.For == 0 && !last:
			return fmt.Errorf("step %d: for %s is outside 0 to %s", i+1, step.For, maxDelay)
		}
	}
	return nil
}

// String writes the steps as parseCurve reads them.
func (c *Curve) String() string {
	var parts []string
	for _, step := range c.Steps {
		text := formatNumber(step.RatePerS) + "/s"
		if step.For > 0 {
			text += "*" + step.For.String()
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ",")
}

// readCurve reads a list of { rate: 1/s, for: 1m }.
func readCurve(node *yaml.Node) (*Curve, error) {
	if node.Kind == yaml.ScalarNode {
		var c *Curve
		err := into(&c, parseCurve)(node)
		return c, err
	}
	if node.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("expected a list of steps like { rate: 1/s, for: 1m }, got %s", nodeText(node))
	}
	c := &Curve{}
	for _, item := range node.Content {
		var step Step
		err := readMapping(item, "a step", key{"rate", into(&step.RatePerS, units.ParseRate)}, key{"for", into(&step.For, units.ParseDuration)})
		if err != nil {
			return nil, err
		}
		c.Steps = append(c.Steps, step)
	}
	return c, c.validate()
}

// yaml writes the steps as readCurve reads them.
func (c *Curve) yaml() *yaml.Node {
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, step := range c.Steps {
		out := mapping{{"rate", scalarNode(formatNumber(step.RatePerS) + "/s")}}
		if step.For > 0 {
			out = append(out, pair{"for", scalarNode(step.For.String())})
		}
		list.Content = append(list.Content, out.node())
	}
	return list
}

// jsonStep is a step in reports.
type jsonStep struct {
	RatePerS float64 `json:"rate_per_s"`
	For      float64 `json:"for_s,omitempty"`
}

func (c *Curve) json() []jsonStep {
	if c == nil {
		return nil
	}
	var steps []jsonStep
	for _, step := range c.Steps {
		steps = append(steps, jsonStep{step.RatePerS, step.For.Seconds()})
	}
	return steps
}
