package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
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

// document returns the root of the one document in data, YAML or JSON.
func document(data []byte) (*yaml.Node, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(fromJSON(data)))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errEmpty
	case err != nil:
		return nil, firstLine(err)
	}
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return nil, errors.New("configuration has more than one YAML document")
	}
	if root := doc.Content[0]; root.Kind != yaml.ScalarNode || root.Tag != "!!null" {
		return root, nil
	}
	return nil, errEmpty
}

var errEmpty = errors.New("configuration is empty")

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
	known := map[string]reflect.StructField{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		known[name] = field
	}
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: expected keys (%s)", node.Line, keyList(known))
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
		if err := checkValue(key, value, field); err != nil {
			return err
		}
	}
	return nil
}

// checkValue checks the value of one key. A key with nothing behind it is not
// taken for one that is left out: whoever comments out all of a tenant's models
// does not mean to allow every model.
func checkValue(key, value *yaml.Node, field reflect.StructField) error {
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return fmt.Errorf("line %d: %s has no value: give it one, or leave it out", key.Line, key.Value)
	case value.Kind == yaml.SequenceNode && len(value.Content) == 0 && field.Type != reflect.TypeFor[Words]():
		return fmt.Errorf("line %d: %s is an empty list: list some, or leave it out", key.Line, key.Value)
	}
	if err := checkShape(value, field.Type); err != nil {
		return err
	}
	return checkScalar(key.Value, value, field)
}

func unknownKey(key *yaml.Node, known map[string]reflect.StructField) error {
	if near := profiles.DidYouMean(key.Value, keysOf(known)); near != "" {
		return fmt.Errorf("line %d: unknown key %q%s", key.Line, key.Value, near)
	}
	return fmt.Errorf("line %d: unknown key %q, known here: %s", key.Line, shortened(key.Value), keyList(known))
}

func keyList(known map[string]reflect.StructField) string { return strings.Join(keysOf(known), ", ") }

func keysOf(known map[string]reflect.StructField) []string { return slices.Sorted(maps.Keys(known)) }
