package grammar

import (
	"bytes"
	"fmt"
	"net/url"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// literals writes those values of "enum" and "const" for which a whole set of schemas
// holds.
func (c *compiler) literals(d *draft, from, to int32, s set, allowed kinds) {
	for _, candidate := range listed(s) {
		holds := candidate.ownKinds()&allowed != 0
		for _, v := range s {
			holds = holds && c.holds(v, candidate, len(s) == 1)
		}
		if holds {
			d.literal(from, to, candidate)
		}
	}
}

// listed are the values that the first schema with a list has.
func listed(s set) []*value {
	for _, v := range s {
		if f := v.fields["const"]; f != nil {
			return []*value{f}
		}
		if f := v.fields["enum"]; f != nil {
			if f.kind != '[' {
				fail("schema at %s: expected an array", f.pointer())
			}
			return f.items
		}
	}
	return nil
}

// ownKinds are the types that a value, read as a plain one, has.
func (v *value) ownKinds() kinds {
	switch v.kind {
	case 'n':
		return kindNull
	case 't', 'f':
		return kindBoolean
	case '"':
		return kindString
	case '[':
		return kindArray
	case '{':
		return kindObject
	}
	if parseBound(v.text, false, v.pointer()).fraction != "" {
		return kindFraction
	}
	return kindInteger
}

// holds says whether a schema holds for a listed value. Types have been looked at; where
// there is more to a schema than its list, a validator judges.
func (c *compiler) holds(v, listed *value, alone bool) bool {
	others := slices.Concat(objectKeywords, arrayKeywords, stringKeywords, numberKeywords)
	two := v.has("enum") && v.has("const")
	if v == nullSchema || alone && !two && !v.has(others...) {
		return true
	}
	checker := c.checkers[v]
	if checker == nil {
		c.meter.spend(len(c.document.raw)) // which is read again
		var err error
		if checker, err = c.checker(v); err != nil {
			fail("schema at %s: %w", v.pointer(), err)
		}
		c.checkers[v] = checker
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(listed.json(nil)))
	if err != nil {
		fail("schema at %s: %w", listed.pointer(), err)
	}
	return checker.Validate(plain) == nil
}

// checker is a validator of the schema at one place of the document.
func (c *compiler) checker(v *value) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.document.raw))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(nothingElse{})
	const base = "schema:///document"
	if err := compiler.AddResource(base, document); err != nil {
		return nil, err
	}
	return compiler.Compile(base + "#" + (&url.URL{Path: v.pointer()[1:]}).EscapedPath())
}

// nothingElse refuses to load what is not in the document.
type nothingElse struct{}

func (nothingElse) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not within the schema", url)
}

// json is a value as JSON, compact and in its own order.
func (v *value) json(dst []byte) []byte {
	switch v.kind {
	case 'n':
		return append(dst, "null"...)
	case 't':
		return append(dst, "true"...)
	case 'f':
		return append(dst, "false"...)
	case '"':
		return append(dst, quoted(v.text)...)
	case '0':
		return append(dst, v.text...)
	}
	dst = append(dst, v.kind)
	for i, item := range v.items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = item.json(dst)
	}
	for i, key := range v.keys {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = v.fields[key].json(append(append(dst, quoted(key)...), ':'))
	}
	return append(dst, v.kind+2) // the closing bracket is two code points on
}

// literal reads exactly one value, with white space where it may stand.
func (d *draft) literal(from, to int32, v *value) {
	if v.kind != '[' && v.kind != '{' || len(v.items)+len(v.keys) == 0 {
		d.text(from, to, string(v.json(nil)))
		return
	}
	at := d.blank(d.then(from, string(v.kind)))
	for i, item := range v.items {
		if i > 0 {
			at = d.blank(d.then(at, ","))
		}
		next := d.state()
		d.literal(at, next, item)
		at = next
	}
	for i, key := range v.keys {
		if i > 0 {
			at = d.blank(d.then(at, ","))
		}
		next := d.state()
		d.literal(d.space(d.then(at, quoted(key)+":")), next, v.fields[key])
		at = next
	}
	d.text(d.blank(at), to, string(v.kind+2))
}
