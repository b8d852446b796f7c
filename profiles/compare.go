package profiles

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"
)

// Comparison is one setting whose values a simulation lays side by side: the
// setting by the name of its flag, with - or _, and each value as the flag takes it.
type Comparison struct {
	Setting string   `json:"setting"`
	Values  []string `json:"values"`
}

// readCompare reads settings and their values, in the order of the file: all
// combinations are compared, and the last setting changes fastest.
func readCompare(node *yaml.Node) ([]Comparison, error) {
	if node.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("expected a setting and a list of its values, like router: [round_robin, least_loaded], got %s", nodeText(node))
	}
	var out []Comparison
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, list := node.Content[i], follow(node.Content[i+1])
		c := Comparison{Setting: name.Value}
		if slices.ContainsFunc(out, func(o Comparison) bool { return o.Setting == c.Setting }) {
			return nil, at(name, fmt.Errorf("%s is given twice", c.Setting))
		}
		if list.Kind != yaml.SequenceNode || len(list.Content) < 2 {
			return nil, at(list, fmt.Errorf("%s: expected a list of at least two values, got %s", c.Setting, nodeText(list)))
		}
		for _, item := range list.Content {
			text, err := scalar(follow(item))
			if err == nil {
				text, err = plainText(text)
			}
			if err != nil {
				return nil, at(item, fmt.Errorf("%s: %w", c.Setting, err))
			}
			if slices.Contains(c.Values, text) {
				return nil, at(item, fmt.Errorf("%s: the value %s is there twice", c.Setting, text))
			}
			c.Values = append(c.Values, text)
		}
		out = append(out, c)
	}
	return out, nil
}

// compareYAML writes what readCompare reads.
func compareYAML(all []Comparison) mapping {
	out := mapping{}
	for _, c := range all {
		list := &yaml.Node{Kind: yaml.SequenceNode, Style: yaml.FlowStyle}
		for _, v := range c.Values {
			list.Content = append(list.Content, scalarNode(v))
		}
		out.value(c.Setting, list)
	}
	return out
}
