package profiles

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/internal/units"
	"github.com/llmctl/llmctl/internal/userfile"
)

// key is one key of a YAML mapping and what reads its value.
type key struct {
	name string
	read func(*yaml.Node) error
}

// parseYAML parses one document into its root node; nil when it is empty.
func parseYAML(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document yaml.Node
	if err := decoder.Decode(&document); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, userfile.YAMLError(err)
	}
	if err := userfile.SecondDocument(decoder); err != nil {
		return nil, err
	}
	if len(document.Content) != 1 {
		return nil, nil
	}
	return document.Content[0], nil
}

// readMapping reads a mapping whose keys are all among keys. A key that is not
// known is refused with its line and the nearest known one.
func readMapping(node *yaml.Node, what string, keys ...key) error {
	node = follow(node)
	if node.Kind != yaml.MappingNode {
		return at(node, fmt.Errorf("%s: expected keys and values, got %s", what, nodeText(node)))
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		k, err := findKey(name.Value, what, keys)
		if err == nil && seen[k.name] {
			err = fmt.Errorf("%s: key %q is given twice", what, k.name)
		}
		if err != nil {
			return at(name, err)
		}
		seen[k.name] = true
		if err := k.read(follow(value)); err != nil {
			return at(value, fmt.Errorf("%s: %w", k.name, err))
		}
	}
	return nil
}

func findKey(name, what string, keys []key) (key, error) {
	known := make([]string, len(keys))
	for i, k := range keys {
		if k.name == name {
			return k, nil
		}
		known[i] = k.name
	}
	hint := "expected one of " + strings.Join(known, ", ")
	return key{}, unknown("key", name, known, hint+" in "+what)
}

// follow resolves an alias. Anchors that contain themselves are refused by the
// YAML parser.
func follow(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// lineError is an error at a line of a file.
type lineError struct {
	line int
	err  error
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %v", e.line, e.err) }
func (e *lineError) Unwrap() error { return e.err }

// at adds the node's line to an error, unless a deeper node's line is there.
func at(node *yaml.Node, err error) error {
	var deeper *lineError
	if errors.As(err, &deeper) {
		return err
	}
	return &lineError{line: node.Line, err: err}
}

// nodeText words a node for a message.
func nodeText(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	text := node.Value
	if len(text) > 40 {
		text = strings.ToValidUTF8(text[:40], "") + "…"
	}
	return fmt.Sprintf("%q", text)
}

// scalar reads a node that must be a plain value.
func scalar(node *yaml.Node) (string, error) {
	if node.Kind != yaml.ScalarNode || node.Tag == "!!null" {
		return "", fmt.Errorf("expected a value, got %s", nodeText(node))
	}
	return node.Value, nil
}

// into returns a reader that stores what parse makes of a plain value.
func into[T any](target *T, parse func(string) (T, error)) func(*yaml.Node) error {
	return func(node *yaml.Node) error {
		text, err := scalar(node)
		if err != nil {
			return err
		}
		*target, err = parse(text)
		return err
	}
}

func plainText(s string) (string, error) { return strings.TrimSpace(s), nil }

func number(s string) (float64, error) { return units.ParseCount(s) }

func whole(s string) (int, error) { return parseWhole("value", s) }
