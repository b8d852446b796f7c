package userfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DecodeYAML decodes the one document in data, all of whose keys must be fields
// of value. An empty file leaves value alone.
func DecodeYAML(data []byte, value any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	decoder.KnownFields(true)
	if err := decoder.Decode(value); err != nil {
		if errors.Is(err, io.EOF) {
			return nil
		}
		return YAMLError(err)
	}
	return SecondDocument(decoder)
}

// SecondDocument is an error when a decoder has more than the document that it
// has read: what stands there would be ignored.
func SecondDocument(decoder *yaml.Decoder) error {
	var more yaml.Node
	if err := decoder.Decode(&more); !errors.Is(err, io.EOF) {
		return fmt.Errorf("line %d: expected one document, found a second", max(1, more.Line))
	}
	return nil
}

// What the YAML library says, with types of the program in it.
var (
	yamlPrefix  = regexp.MustCompile(`^yaml: (unmarshal errors:\s*)?`)
	yamlKind    = regexp.MustCompile("^(line \\d+: )?cannot unmarshal !!(\\S+)(?: `((?s).*)`)? into (\\S+)$")
	yamlUnknown = regexp.MustCompile(`^(line \d+: )?field (.*) not found in type \S+$`)
)

// YAMLError words the first complaint of the YAML library on one line.
func YAMLError(err error) error {
	text := yamlPrefix.ReplaceAllString(err.Error(), "")
	if several, ok := errors.AsType[*yaml.TypeError](err); ok && len(several.Errors) > 0 {
		text = several.Errors[0]
	}
	if m := yamlKind.FindStringSubmatch(text); m != nil {
		got := map[string]string{"map": "keys and values", "seq": "a list", "null": "nothing"}[m[2]]
		if got == "" {
			got = fmt.Sprintf("%.60q", m[3])
		}
		text = fmt.Sprintf("%sexpected %s, got %s", m[1], wanted(m[4]), got)
	} else if m := yamlUnknown.FindStringSubmatch(text); m != nil {
		text = fmt.Sprintf("%skey %.60q is not known", m[1], m[2])
	}
	return fmt.Errorf("decoding YAML: %s", oneLine(text))
}

// wanted words a Go type as what a file has there.
func wanted(goType string) string {
	switch kind := strings.TrimLeft(goType, "*"); {
	case strings.HasPrefix(kind, "[]"):
		return "a list"
	case kind == "string":
		return "text"
	case kind == "bool":
		return "true or false"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	}
	return "keys and values"
}

// JSONError words a complaint of the JSON library on one line. It says where: at
// which field, or else at which byte.
func JSONError(err error) error {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		value, place := wrong.Value, ""
		switch value {
		case "array":
			value = "a list"
		case "object":
			value = "an object"
		case "string":
			value = "text"
		case "bool":
			value = "true or false"
		case "number":
			value = "a number"
		}
		if wrong.Field != "" {
			place = wrong.Field + ": "
		}
		return fmt.Errorf("decoding JSON: %sexpected %s, got %s", place, wantedJSON(wrong.Type), value)
	}
	if broken, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("decoding JSON: %s, at byte %d", oneLine(broken.Error()), broken.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("decoding JSON: the file ends before its first object does")
	}
	return fmt.Errorf("decoding JSON: %s", oneLine(strings.TrimPrefix(err.Error(), "json: ")))
}

func wantedJSON(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	}
	return wanted(t.Kind().String())
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
