package profiles

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"
)

// reader is what a key of a section is read by.
type reader interface{ readYAML(node *yaml.Node) error }

// readSection reads a section as a mapping, or in one word.
func readSection(node *yaml.Node, s section) error {
	if node = follow(node); node.Kind == yaml.ScalarNode {
		text, err := scalar(node)
		if err != nil {
			return err
		}
		return parseSection(text, s)
	}
	var keys []key
	for _, slot := range s.slots() {
		read := func(n *yaml.Node) error {
			text, err := scalar(n)
			if err != nil {
				return err
			}
			return slot.set(text)
		}
		if inner, ok := slot.to.(nested); ok {
			read = inner.readYAML
		}
		keys = append(keys, key{slot.name, read})
	}
	if err := readMapping(node, s.form().what, keys...); err != nil {
		return err
	}
	return s.Validate()
}

// sectionMapping writes what was said as readSection reads it.
func sectionMapping(s section) mapping {
	out := mapping{}
	for _, slot := range s.slots() {
		if !slot.said() {
			continue
		}
		switch p := slot.to.(type) {
		case nodes:
			out.value(slot.name, p.node())
		case nested:
			out.nested(slot.name, p.mapping())
		case *string:
			out.text(slot.name, *p)
		default:
			out.value(slot.name, scalarNode(slot.text()))
		}
	}
	return out
}

// sectionJSON is what was said, in base units by keys that tell them; nil when
// nothing was.
func sectionJSON(s section) any {
	out := map[string]any{}
	for _, slot := range s.slots() {
		if !slot.said() {
			continue
		}
		switch p := slot.to.(type) {
		case nested:
			out[slot.name] = p.json()
		case *string:
			out[slot.name] = *p
		case *bool:
			out[slot.name] = *p
		case *time.Duration:
			out[slot.name+slot.as.unit] = p.Seconds()
		case **time.Duration:
			out[slot.name+slot.as.unit] = (*p).Seconds()
		default:
			v, _ := slot.number()
			out[slot.name+slot.as.unit] = v
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// inside is a section inside of another one.
type inside struct{ section }

func (in inside) readYAML(node *yaml.Node) error { return readSection(node, in.section) }
func (in inside) mapping() mapping               { return sectionMapping(in.section) }
func (in inside) json() any                      { return sectionJSON(in.section) }
func (in inside) said() bool                     { return said(in.section) }

// over takes the base's section as a whole when nothing of this one was said: half
// of another one means nothing.
func (in inside) over(base nested) {
	if !in.said() {
		overlay(in.section, base.(inside).section)
	}
}

// nodes is a nested value that is no mapping.
type nodes interface{ node() *yaml.Node }

// list is a list of sections.
type list[T any, S interface {
	*T
	section
}] struct{ items *[]T }

func (l list[T, S]) readYAML(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode {
		return fmt.Errorf("expected a list, got %s", nodeText(node))
	}
	for _, item := range node.Content {
		var one T
		if err := readSection(item, S(&one)); err != nil {
			return at(item, err)
		}
		*l.items = append(*l.items, one)
	}
	return nil
}

func (l list[T, S]) node() *yaml.Node {
	out := &yaml.Node{Kind: yaml.SequenceNode}
	for i := range *l.items {
		out.Content = append(out.Content, sectionMapping(S(&(*l.items)[i])).node())
	}
	return out
}

func (l list[T, S]) json() any {
	var out []any
	for i := range *l.items {
		out = append(out, sectionJSON(S(&(*l.items)[i])))
	}
	return out
}

func (l list[T, S]) mapping() mapping { return nil }
func (l list[T, S]) said() bool       { return len(*l.items) > 0 }

func (l list[T, S]) over(base nested) {
	if !l.said() {
		*l.items = *base.(list[T, S]).items
	}
}
