package grammar

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
)

// A value is a part of a schema's JSON. Objects keep the order of their keys.
type value struct {
	id     int // counts values in the order in which they stand
	parent *value
	name   string // the key or the index within the parent
	kind   byte   // { [ " 0 t f n
	text   string // of a string, or of a number as it is written
	keys   []string
	fields map[string]*value
	items  []*value
}

// pointer says where a value stands, as RFC 6901 has it: "#/properties/a".
func (v *value) pointer() string {
	if v.parent == nil {
		return "#"
	}
	return v.parent.pointer() + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(v.name)
}

// A document is a whole schema.
type document struct {
	root *value
	raw  json.RawMessage
}

// find follows a reference within the document, or returns nil. It takes the
// fragments that are JSON pointers.
func (d *document) find(ref string) *value {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	if fragment == "" {
		return d.root
	}
	path, err := url.PathUnescape(fragment)
	if err != nil || path[0] != '/' {
		return nil
	}
	v := d.root
	for name := range strings.SplitSeq(path[1:], "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if v.kind == '[' {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v.items) {
				return nil
			}
			v = v.items[i]
		} else if v = v.fields[name]; v == nil {
			return nil
		}
	}
	return v
}

// parseDocument reads a schema's JSON.
func parseDocument(raw json.RawMessage) (*document, error) {
	if len(raw) > maxText {
		return nil, fmt.Errorf("schema is too large: %d bytes, at most %d", len(raw), maxText)
	}
	r := &reader{decoder: json.NewDecoder(bytes.NewReader(raw))}
	r.decoder.UseNumber()
	root, err := r.value(nil, "", 0)
	if err != nil {
		return nil, err
	}
	if _, err := r.decoder.Token(); err != io.EOF {
		return nil, fmt.Errorf("parsing schema: more than one JSON value")
	}
	return &document{root: root, raw: raw}, nil
}

type reader struct {
	decoder *json.Decoder
	count   int
}

func (r *reader) value(parent *value, name string, depth int) (*value, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("schema is too large: its JSON is nested more than %d deep", maxNesting)
	}
	token, err := r.decoder.Token()
	if err != nil {
		return nil, fmt.Errorf("parsing schema: %w", err)
	}
	v := &value{id: r.count, parent: parent, name: name}
	r.count++
	switch t := token.(type) {
	case json.Delim:
		if v.kind = byte(t); t == '{' {
			err = r.object(v, depth)
		} else {
			err = r.array(v, depth)
		}
		if err == nil {
			_, err = r.decoder.Token()
		}
	case string:
		v.kind, v.text = '"', t
	case json.Number:
		v.kind, v.text = '0', t.String()
	case bool:
		v.kind = strconv.FormatBool(t)[0]
	default:
		v.kind = 'n'
	}
	return v, err
}

func (r *reader) object(v *value, depth int) error {
	v.fields = map[string]*value{}
	for r.decoder.More() {
		token, err := r.decoder.Token()
		if err != nil {
			return fmt.Errorf("parsing schema: %w", err)
		}
		key := token.(string)
		if v.fields[key] != nil {
			return fmt.Errorf("schema at %s has the key %q twice", v.pointer(), key)
		}
		field, err := r.value(v, key, depth+1)
		if err != nil {
			return err
		}
		v.keys = append(v.keys, key)
		v.fields[key] = field
	}
	return nil
}

func (r *reader) array(v *value, depth int) error {
	for r.decoder.More() {
		item, err := r.value(v, strconv.Itoa(len(v.items)), depth+1)
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
	}
	return nil
}

// quoted is a string as a document has it: no escape where none is needed.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r < 0x20 || r == '"' || r == '\\' {
			b.WriteString(escaped(r))
		} else {
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
