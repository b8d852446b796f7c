package config

import (
	"reflect"
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Tools that read YAML 1.1 (PyYAML, Ruby's Psych, and Helm through its conversion to
// JSON) take on, off, yes and no for booleans (https://yaml.org/type/bool.html), and
// 0600 for an octal number (https://yaml.org/type/int.html). What they write back of
// a file is told apart here from what was meant.

// restoreKey gives the key on its name back, of which such tools make true.
func restoreKey(key *yaml.Node, known map[string]reflect.StructField) {
	_, taken := known["true"]
	if _, ok := known["on"]; !ok || taken {
		return
	}
	switch key.Value {
	case "true", "True", "TRUE":
		key.Value, key.Tag, key.Style = "on", "!!str", 0
	}
}

// unquote takes the quotes off a number or a boolean, which templates put around
// every value.
func unquote(node *yaml.Node, t reflect.Type) {
	if node.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) == 0 {
		return
	}
	fits := node.Value == "true" || node.Value == "false"
	if t.Kind() != reflect.Bool {
		_, err := strconv.ParseFloat(node.Value, 64)
		fits = err == nil
	}
	if fits {
		node.Style, node.Tag = 0, ""
	}
}

// octal matches numbers that some readers take for octal ones, and others do not.
var octal = regexp.MustCompile(`^[-+]?0[0-9_]`)

// booleanForText tells whether a boolean stands where a text is expected: a name, or
// a word of a filter, that was yes or on before a tool rewrote the file.
func booleanForText(node *yaml.Node, t reflect.Type) bool {
	return t.Kind() == reflect.String && node.Tag == "!!bool"
}
