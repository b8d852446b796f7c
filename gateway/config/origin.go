package config

import (
	"fmt"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Origin is an origin of pages in browsers, like https://app.example.com. In it *
// stands for any characters but a slash, and * alone is every origin.
type Origin string

const expectedOrigin = `expected an origin like https://app.example.com, or "*"`

// UnmarshalYAML implements yaml.Unmarshaler.
func (o *Origin) UnmarshalYAML(node *yaml.Node) error {
	if !validOrigin(node.Value) {
		return fmt.Errorf("line %d: %s, got %q", node.Line, expectedOrigin, shortened(node.Value))
	}
	*o = Origin(node.Value)
	return nil
}

func validOrigin(text string) bool {
	if text == "*" {
		return true
	}
	if strings.ContainsAny(text, `\[]?`) { // they would mean something in a pattern
		return false
	}
	// A port may be any, which no URL can say.
	u, err := url.Parse(strings.TrimSuffix(text, ":*"))
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.Scheme+"://"+u.Host == strings.TrimSuffix(text, ":*")
}
