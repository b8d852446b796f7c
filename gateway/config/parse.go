package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/llmctl/llmctl/profiles"
)

// Parse reads a configuration file and checks it. The environment is not
// looked at: New does that. Errors name the line, or the entry for a mistake
// that spans lines, and never quote a value that may hold a secret.
func Parse(data []byte) (*Config, error) {
	root, err := document(data)
	if err != nil {
		return nil, err
	}
	if err := checkShape(root, reflect.TypeFor[Config]()); err != nil {
		return nil, err
	}
	var c Config
	if err := root.Decode(&c); err != nil {
		return nil, firstLine(err)
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &c, nil
}

// document returns the root of the one document in data.
func document(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errors.New("configuration is empty")
	case err != nil:
		return nil, firstLine(err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("configuration has more than one YAML document")
	}
	return doc.Content[0], nil
}

// firstLine cuts the YAML library's list of errors down to one clear line.
func firstLine(err error) error {
	text := err.Error()
	if several, ok := errors.AsType[*yaml.TypeError](err); ok {
		text = several.Errors[0]
	}
	return errors.New(strings.TrimPrefix(text, "yaml: "))
}

// checkShape walks the document beside the type it is read into. The YAML
// library would ignore unknown keys or name them without help, and it quotes
// what it cannot convert, which could be a key that stands in the wrong place.
func checkShape(node *yaml.Node, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return fmt.Errorf("line %d: anchors and aliases are not supported", node.Line)
	}
	if node.Kind == yaml.ScalarNode && node.Tag == "!!null" {
		return nil // a key without a value counts as left out
	}
	switch {
	case t.Kind() == reflect.Struct:
		return checkMapping(node, t)
	case t.Kind() == reflect.Slice:
		if node.Kind != yaml.SequenceNode {
			return fmt.Errorf("line %d: expected a list", node.Line)
		}
		for _, item := range node.Content {
			if err := checkShape(item, t.Elem()); err != nil {
				return err
			}
		}
	case node.Kind != yaml.ScalarNode:
		return fmt.Errorf("line %d: expected a single value", node.Line)
	}
	return nil
}

func checkMapping(node *yaml.Node, t reflect.Type) error {
	known := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		known[name] = field.Type
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: expected keys (%s)", node.Line, names(known))
	}
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		field, ok := known[key.Value]
		if !ok || key.Kind != yaml.ScalarNode {
			return unknownKey(key, known)
		}
		if seen[key.Value] {
			return fmt.Errorf("line %d: key %q appears twice", key.Line, key.Value)
		}
		seen[key.Value] = true
		if err := checkShape(value, field); err != nil {
			return err
		}
	}
	return nil
}

func unknownKey(key *yaml.Node, known map[string]reflect.Type) error {
	if near := profiles.DidYouMean(key.Value, sorted(known)); near != "" {
		return fmt.Errorf("line %d: unknown key %q%s", key.Line, key.Value, near)
	}
	return fmt.Errorf("line %d: unknown key %q, known here: %s", key.Line, key.Value, names(known))
}

func names(known map[string]reflect.Type) string { return strings.Join(sorted(known), ", ") }

func sorted(known map[string]reflect.Type) []string {
	var keys []string
	for k := range known {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
