package profiles

import (
	"fmt"
	"math"

	"go.yaml.in/yaml/v3"
)

// checkSaid is check for a part that may be left out.
func (d Distribution) checkSaid() error {
	if d == (Distribution{}) {
		return nil
	}
	return d.check()
}

// check is Validate where a file need not have been read yet.
func (d Distribution) check() error {
	if d.Kind == Empirical && d.Samples != nil && d.Samples.File != "" && len(d.Samples.Values) == 0 {
		return checkPath(d.Samples.File)
	}
	return d.Validate()
}

func (d *Distribution) readYAML(node *yaml.Node) (err error) {
	if node.Kind == yaml.ScalarNode {
		return into(d, ParseDistribution)(node)
	}
	name, value, err := onlyPair(node, "tokens, or one distribution like { lognormal: { mean: 1500, p99: 8000 } }")
	if err != nil {
		return err
	}
	switch {
	case name == Empirical:
		d.Kind = Empirical
		d.Samples, err = readSamples(value)
		return err
	case name == Fixed && value.Kind == yaml.ScalarNode:
		text, err := scalar(value)
		if err != nil {
			return err
		}
		mean, err := number(text)
		if err != nil {
			return err
		}
		*d = Distribution{Kind: Fixed, Mean: mean}
		return d.Validate()
	}
	parameters := map[string]float64{}
	var keys []key
	for _, name := range []string{"mean", "stddev", "p99", "min", "max", "exponent"} {
		keys = append(keys, key{name, func(n *yaml.Node) (err error) {
			v := math.NaN()
			err = into(&v, number)(n)
			parameters[name] = v
			return err
		}})
	}
	if err := readMapping(value, string(name), keys...); err != nil {
		return err
	}
	*d, err = newDistribution(name, parameters)
	return err
}

// onlyPair reads a mapping of one kind of distribution to its parameters.
func onlyPair(node *yaml.Node, expected string) (DistributionKind, *yaml.Node, error) {
	if node.Kind != yaml.MappingNode || len(node.Content) != 2 {
		return "", nil, fmt.Errorf("expected %s, got %s", expected, nodeText(node))
	}
	return DistributionKind(node.Content[0].Value), follow(node.Content[1]), nil
}
