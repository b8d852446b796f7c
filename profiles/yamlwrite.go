package profiles

import (
	"maps"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// mapping is a YAML mapping being written, in the order of its keys.
type mapping []pair

type pair struct {
	key   string
	value *yaml.Node
}

func (m *mapping) text(key, value string) {
	if value != "" {
		*m = append(*m, pair{key, textNode(value)})
	}
}

func (m *mapping) number(key string, value float64) {
	if value != 0 {
		*m = append(*m, pair{key, scalarNode(strconv.FormatFloat(value, 'f', -1, 64))})
	}
}

func (m *mapping) nested(key string, value mapping) {
	if len(value) > 0 {
		*m = append(*m, pair{key, value.node()})
	}
}

// value adds a node unless it is nil.
func (m *mapping) value(key string, node *yaml.Node) {
	if node != nil {
		*m = append(*m, pair{key, node})
	}
}

func (m mapping) node() *yaml.Node {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, p := range m {
		node.Content = append(node.Content, textNode(p.key), p.value)
	}
	return node
}

// textNode is a string: the library quotes it where it would read as something
// else.
func textNode(value string) *yaml.Node {
	var node yaml.Node
	node.SetString(value)
	return &node
}

func scalarNode(value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Value: value}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
