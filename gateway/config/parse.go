package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Parse reads a configuration file and checks it. The environment is not
// looked at: New does that. Errors name the line and the key, and never quote a
// value that may hold a secret.
func Parse(data []byte) (*Config, error) {
	root, err := document(data)
	if err != nil {
		return nil, err
	}
	if err := checkShape("", root, reflect.TypeFor[Config]()); err != nil {
		return nil, err
	}
	var c Config
	if err := root.Decode(&c); err != nil {
		return nil, kindError(err)
	}
	if err := c.Validate(); err != nil {
		return nil, located(err, root)
	}
	return &c, nil
}

// document returns the root of the one document in data, YAML or JSON.
func document(data []byte) (*yaml.Node, error) {
	if err := checkText(data); err != nil {
		return nil, err
	}
	decoder := yaml.NewDecoder(bytes.NewReader(fromJSON(data)))
	var doc, more yaml.Node
	switch err := decoder.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil, errEmpty
	case err != nil:
		return nil, syntaxError(err, data)
	}
	switch err := decoder.Decode(&more); {
	case err == nil:
		return nil, fmt.Errorf("line %d: a second YAML document begins, expected one: remove the --- between them", more.Line)
	case !errors.Is(err, io.EOF):
		return nil, syntaxError(err, data)
	}
	if root := doc.Content[0]; root.Kind != yaml.ScalarNode || root.Tag != "!!null" {
		return root, nil
	}
	return nil, errEmpty
}

var errEmpty = errors.New("configuration is empty, expected at least listen, tenants, providers and models: examples/gateway.yaml has them")

// checkShape walks the document beside the type it is read into. The YAML
// library would ignore unknown keys or name them without help, and it quotes
// what it cannot convert, which could be a key that stands in the wrong place.
// The path is that of the node, for errors.
func checkShape(path string, node *yaml.Node, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		return fmt.Errorf("line %d: %s", node.Line, noAnchors)
	}
	if node.Style&yaml.TaggedStyle != 0 {
		return wrong(path, node, "tags of YAML (!) are not supported: write the value alone")
	}
	switch {
	case t.Kind() == reflect.Struct:
		return checkMapping(path, node, t)
	case t.Kind() == reflect.Slice:
		return checkSequence(path, node, t)
	case node.Kind != yaml.ScalarNode:
		return wrong(path, node, "expected a single value, got a %s", kindOf(node))
	case booleanForText(node, t):
		return wrong(path, node, "expected text, got the boolean %s: put quotes around it, and around yes, no, on and off, which some tools turn into it", node.Value)
	case unfilled.MatchString(node.Value) && !free.MatchString(path):
		return wrong(path, node, unfilledAdvice)
	case t == reflect.TypeFor[Origin]() && !validOrigin(node.Value):
		return wrong(path, node, "%s, got %q", expectedOrigin, shortened(node.Value))
	}
	return nil
}

// wrong is an error about a node. The root has no path.
func wrong(path string, node *yaml.Node, format string, args ...any) error {
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = path + ": " + text
	}
	return fmt.Errorf("line %d: %s", node.Line, text)
}

func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.SequenceNode:
		return "list"
	case yaml.MappingNode:
		return "mapping"
	}
	return "single value"
}

func checkSequence(path string, node *yaml.Node, t reflect.Type) error {
	if node.Kind != yaml.SequenceNode {
		form := "[…]"
		if entry := t.Elem(); entry.Kind() == reflect.Struct {
			form = "entries that begin with -"
		}
		return wrong(path, node, "expected a list, written as %s, got a %s", form, kindOf(node))
	}
	for i, item := range node.Content {
		if item.Tag == "!!null" && item.Kind == yaml.ScalarNode {
			return wrong(path, item, "entry %d is empty", i+1)
		}
		if err := checkShape(fmt.Sprintf("%s[%d]", path, i), item, t.Elem()); err != nil {
			return err
		}
	}
	return nil
}

func checkMapping(path string, node *yaml.Node, t reflect.Type) error {
	known := map[string]reflect.StructField{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("yaml"), ",")
		known[name] = field
	}
	if form, ok := forms[t]; ok && node.Kind != yaml.MappingNode {
		return wrong(path, node, "expected %s, got a %s", form, kindOf(node))
	}
	if node.Kind != yaml.MappingNode {
		return wrong(path, node, "expected a mapping with keys (%s), got a %s", strings.Join(keysOf(known), ", "), kindOf(node))
	}
	seen := map[string]bool{}
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			return wrong(path, key, "expected a key, got a %s: what stands in {{ }} must be filled in before", kindOf(key))
		}
		restoreKey(key, known)
		field, ok := known[key.Value]
		if !ok {
			return fmt.Errorf("line %d: unknown key %s%s%s", key.Line, keyName(key.Value), inside(path), suggestion(key.Value, keysOf(known)))
		}
		if seen[key.Value] {
			return fmt.Errorf("line %d: key %q%s appears twice", key.Line, key.Value, inside(path))
		}
		seen[key.Value] = true
		if err := checkValue(strings.TrimPrefix(path+"."+key.Value, "."), key, value, field); err != nil {
			return err
		}
	}
	return nil
}

// forms are mappings that people write as one value, and what is expected of them.
var forms = map[reflect.Type]string{
	reflect.TypeFor[Key]():    "{hash: sha256:…} or {key_env: NAME}, for keys are never in the file itself",
	reflect.TypeFor[Target](): "a deployment like {provider: NAME, model: NAME}, not the alias of a model",
	reflect.TypeFor[Price]():  "prices like {input: 0.4, output: 1.6}",
}

// inside says where a key stands; those at the left margin stand in nothing.
func inside(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// checkValue checks the value of one key. A key with nothing behind it is not
// taken for one that is left out: whoever comments out all of a tenant's models
// does not mean to allow every model.
func checkValue(path string, key, value *yaml.Node, field reflect.StructField) error {
	_, needed := required[field.Type]
	switch {
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null" && needed:
		return fmt.Errorf("line %d: %s has no value, expected %s", key.Line, path, required[field.Type])
	case value.Kind == yaml.ScalarNode && value.Tag == "!!null":
		return fmt.Errorf("line %d: %s has no value: give it one, or leave it out", key.Line, path)
	case value.Kind == yaml.SequenceNode && len(value.Content) == 0 && needed:
		return fmt.Errorf("line %d: %s is an empty list, expected %s", key.Line, path, required[field.Type])
	case value.Kind == yaml.SequenceNode && len(value.Content) == 0 && field.Type != reflect.TypeFor[Words]():
		return fmt.Errorf("line %d: %s is an empty list: list some, or leave it out", key.Line, path)
	}
	if err := checkShape(path, value, field.Type); err != nil {
		return err
	}
	return checkScalar(path, value, field)
}

// required are the lists that cannot be left out, and what they need.
var required = map[reflect.Type]string{
	reflect.TypeFor[[]Tenant]():   "at least one tenant with a key",
	reflect.TypeFor[[]Key]():      "at least one key: a tenant without any cannot call",
	reflect.TypeFor[[]Provider](): "at least one provider",
	reflect.TypeFor[[]Model]():    "at least one model",
}

// unfilled matches what shells and templates would fill in, free the paths of keys
// whose values may be any text.
const unfilledAdvice = "holds a variable in ${ }, and none are filled in: write the value itself, or the variable's bare name behind a key that ends in _env"

var (
	unfilled = regexp.MustCompile(`\$\{[A-Za-z_][A-Za-z0-9_]*\}`)
	free     = regexp.MustCompile(`^filters\[\d+\]\.(pattern|message|words\[\d+\])$`)
)

func keysOf(known map[string]reflect.StructField) []string { return slices.Sorted(maps.Keys(known)) }

// keyName is an unknown key as errors quote it. One that does not look like a key is
// not quoted: it may be a secret in the wrong place, or a line of another file.
func keyName(text string) string {
	if looksLikeKey.MatchString(text) {
		return strconv.Quote(text)
	}
	return fmt.Sprintf("of %d characters, which is no key's name", len([]rune(text)))
}

var looksLikeKey = regexp.MustCompile(`^[A-Za-z][A-Za-z_]{0,39}$`)
