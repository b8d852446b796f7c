package config

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// misplaced is an error with the way to what it is about: keys and indices, from
// the outermost. Its text is that of the error alone.
type misplaced struct {
	err error
	way []any // string or int
}

func (m *misplaced) Error() string { return m.err.Error() }

func (m *misplaced) Unwrap() error { return m.err }

// at says where in the file an error belongs: behind these keys and indices, below
// what further calls around it say. nil stays nil.
func at(err error, way ...any) error {
	if err == nil {
		return nil
	}
	return &misplaced{err, way}
}

// keyed is at for a key path that is written with dots.
func keyed(path string, err error) error {
	var way []any
	for step := range strings.SplitSeq(path, ".") {
		way = append(way, step)
	}
	return at(err, way...)
}

// located is an error with the line of the file that it is about, as far as the
// checks that made it have said.
func located(err error, root *yaml.Node) error {
	var way []any
	for e := err; e != nil; e = errors.Unwrap(e) {
		if m, ok := e.(*misplaced); ok { //nolint:errorlint // each level of the chain by itself
			way = append(way, m.way...)
		}
	}
	if line := lineOf(root, way); line > 0 {
		return fmt.Errorf("line %d: %w", line, err)
	}
	return err
}

// lineOf is the line of the last key or entry along a way that is there, 0 when
// not even the first one is.
func lineOf(node *yaml.Node, way []any) (line int) {
	for _, step := range way {
		next := (*yaml.Node)(nil)
		switch step := step.(type) {
		case string:
			for i := 0; node.Kind == yaml.MappingNode && i < len(node.Content); i += 2 {
				if node.Content[i].Value == step {
					next, line = node.Content[i+1], node.Content[i].Line
				}
			}
		case int:
			if node.Kind == yaml.SequenceNode && step < len(node.Content) {
				next = node.Content[step]
				line = next.Line
			}
		}
		if next == nil {
			return line
		}
		node = next
	}
	return line
}
