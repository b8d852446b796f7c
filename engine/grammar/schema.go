package grammar

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
)

// A set of schemas must all hold: it is sorted by where they stand, and has each once.
// The empty set lets any value.
type set = []*value

func join(sets ...set) set {
	all := slices.Concat(sets...)
	slices.SortFunc(all, func(a, b *value) int { return a.id - b.id })
	return slices.Compact(all)
}

func key(prefix string, s set) string {
	b := []byte(prefix)
	for _, v := range s {
		b = strconv.AppendInt(append(b, ' '), int64(v.id), 10)
	}
	return string(b)
}

// nullSchema lets null: OpenAPI's "nullable" adds it to a schema.
var nullSchema = &value{
	id: -1, kind: '{', keys: []string{"type"}, fields: map[string]*value{"type": {kind: '"', text: "null"}},
}

// compileSchema makes a grammar of a schema.
func compileSchema(ctx context.Context, raw json.RawMessage, o Options) (*Grammar, error) {
	doc, err := parseDocument(raw)
	if err != nil {
		return nil, err
	}
	c := newCompiler(ctx, o)
	c.document = doc
	return c.compile(func(d *draft) { c.value(d, first, last, set{doc.root}) })
}

// value writes the values for which all schemas of a set hold.
func (c *compiler) value(d *draft, from, to int32, s set) {
	if len(s) == 0 {
		d.call(from, to, c.rule("any", false, func(d *draft) { c.alternative(d, first, last, nil) }))
		return
	}
	for _, alternative := range c.alternatives(s) {
		if len(alternative) == 0 {
			c.value(d, from, to, nil)
			return // everything else is part of it
		}
		c.alternative(d, from, to, alternative)
	}
}

// shared writes the same as a rule of its own, for values that are repeated.
func (c *compiler) shared(d *draft, from, to int32, s set) {
	d.call(from, to, c.rule(key("value", s), false, func(d *draft) { c.value(d, first, last, s) }))
}

// alternatives resolves references and combinations: it is the disjunctive normal
// form of a set, each of whose parts only asserts. "oneOf" is read as "anyOf".
func (c *compiler) alternatives(s set) []set {
	all := []set{nil}
	for _, v := range s {
		all = c.cross(all, c.expand(v, nil), v)
	}
	return all
}

// cross is the conjunction of two normal forms.
func (c *compiler) cross(a, b []set, at *value) []set {
	if len(a)*len(b) > maxAlternatives {
		tooLarge("anyOf and allOf at %s leave more than %d alternatives", at.pointer(), maxAlternatives)
	}
	if c.crossed += len(a) * len(b); c.crossed > maxEdges {
		tooLarge("anyOf, allOf and $ref combine in more than %d ways", maxEdges)
	}
	var out []set
	seen := map[string]bool{}
	for _, x := range a {
		for _, y := range b {
			z := join(x, y)
			c.meter.spend(4 * (1 + len(z)))
			if k := key("", z); !seen[k] {
				seen[k] = true
				out = append(out, z)
			}
		}
	}
	return out
}

// expand is the normal form of one schema. path holds the schemas that led here by
// references and combinations alone.
func (c *compiler) expand(v *value, path []*value) []set {
	if done, ok := c.expanded[v]; ok {
		return done
	}
	if slices.Contains(path, v) {
		fail("schema at %s refers to itself with nothing in between", v.pointer())
	}
	path = append(path, v)
	if v != nullSchema {
		v.check()
	}
	if v.kind != '{' {
		out := []set{nil}
		if v.kind == 'f' {
			out = nil
		}
		return out
	}
	out := []set{nil}
	if v.asserts() {
		out = []set{{v}}
	}
	if ref := v.fields["$ref"]; ref != nil {
		target := c.document.find(ref.text)
		if ref.kind != '"' || target == nil {
			fail("schema at %s: $ref %q leads nowhere within the schema", v.pointer(), ref.text)
		}
		out = c.cross(out, c.expand(target, path), v)
	}
	for _, part := range v.schemas("allOf") {
		out = c.cross(out, c.expand(part, path), v)
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		parts := v.schemas(keyword)
		if v.fields[keyword] == nil {
			continue
		}
		var either []set
		for _, part := range parts {
			either = append(either, c.expand(part, path)...)
		}
		out = c.cross(out, either, v)
	}
	if n := v.fields["nullable"]; n != nil && n.kind == 't' {
		out = append(slices.Clone(out), set{nullSchema})
	}
	c.expanded[v] = out
	return out
}

// alternative writes the values for which the assertions of a set hold.
func (c *compiler) alternative(d *draft, from, to int32, s set) {
	allowed, implied, typed := anyKind, kinds(0), false
	for _, v := range s {
		allowed &= v.kinds()
		implied |= v.implied()
		typed = typed || v.has("type")
	}
	if slices.ContainsFunc(s, func(v *value) bool { return v.has(literalKeyword...) }) {
		c.literals(d, from, to, s, allowed)
		return
	}
	if !typed && implied != 0 {
		allowed = implied
	}
	if allowed&kindNull != 0 {
		d.text(from, to, "null")
	}
	if allowed&kindBoolean != 0 {
		d.text(from, to, "true")
		d.text(from, to, "false")
	}
	if allowed&kindNumber != 0 {
		c.number(d, from, to, s, allowed&kindFraction == 0)
	}
	if allowed&kindString != 0 {
		c.text(d, from, to, s)
	}
	if allowed&kindArray != 0 {
		d.call(from, to, c.rule(key("array", s), true, func(d *draft) { c.array(d, s) }))
	}
	if allowed&kindObject != 0 {
		d.call(from, to, c.rule(key("object", s), true, func(d *draft) { c.object(d, s) }))
	}
}

func (c *compiler) number(d *draft, from, to int32, s set, integer bool) {
	r := numberRule{integer: integer}
	for _, v := range s {
		for _, keyword := range numberKeywords {
			f := v.fields[keyword]
			if f == nil {
				continue
			}
			if f.kind != '0' {
				fail("schema at %s: expected a number", f.pointer())
			}
			b := parseBound(f.text, len(keyword) > len("minimum"), f.pointer())
			if len(b.fraction) > maxDigits && !integer {
				tooLarge("%s %s at %s has more than %d digits after the point", keyword, f.text, v.pointer(), maxDigits)
			}
			if keyword == "minimum" || keyword == "exclusiveMinimum" {
				r.lower(b)
			} else {
				r.upper(b)
			}
		}
	}
	write := r.write
	if r.free() {
		write = freeNumber(integer)
	}
	d.call(from, to, c.rule(r.key(), false, write))
}

func (c *compiler) text(d *draft, from, to int32, s set) {
	r := stringRule{most: -1}
	for _, v := range s {
		r.least = max(r.least, v.count("minLength", 0))
		if most := v.count("maxLength", -1); most >= 0 && (r.most < 0 || most < r.most) {
			r.most = most
		}
		if p := v.fields["pattern"]; p != nil {
			if p.kind != '"' {
				fail("schema at %s: expected a string", p.pointer())
			}
			if !slices.Contains(r.patterns, p.text) {
				r.patterns, r.at = append(r.patterns, p.text), append(r.at, p.pointer())
			}
		}
		if f := v.fields["format"]; f != nil && formats()[f.text] != nil && !slices.Contains(r.formats, f.text) {
			r.formats = append(r.formats, f.text)
		}
	}
	write := r.write
	if r.least == 0 && r.most < 0 && len(r.patterns)+len(r.formats) == 0 {
		write = freeString
	}
	d.call(from, to, c.rule(r.key(), false, write))
}
