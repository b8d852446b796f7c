package grammar

import (
	"slices"
	"strings"
)

// maxIndent is the most spaces that indent a line.
const maxIndent = 20

// object writes the objects for which a set of schemas holds: declared properties in
// the order in which they stand, those that are not required left out at will, then
// others where they may be.
func (c *compiler) object(d *draft, s set) {
	p := c.properties(s)
	open := d.then(first, "{")
	blank := d.blank(open)
	// Before property i, with nothing written yet or with something.
	fresh, more := blank, d.state()
	for i, name := range p.names {
		begin, value, next := d.state(), d.state(), d.state()
		d.skip(fresh, begin)
		d.skip(d.blank(d.then(more, ",")), begin)
		colon := d.then(begin, quoted(name)+":")
		d.skip(d.space(colon), value)
		c.value(d, value, next, p.values[i])
		none := d.state() // still nothing, after this property
		if !p.required[name] {
			d.skip(fresh, none)
			d.skip(more, next)
		}
		fresh, more = none, next
	}
	if p.open {
		begin, after := d.state(), d.state()
		d.skip(fresh, begin)
		d.skip(d.blank(d.then(more, ",")), begin)
		d.call(begin, after, c.rule("key "+quoted(strings.Join(p.names, "\x00")), false, func(d *draft) { freeKey(d, p.names) }))
		value := d.space(d.then(after, ":"))
		c.shared(d, value, more, p.others)
	}
	if len(p.required) == 0 && p.least == 0 {
		d.text(open, last, "}")
	}
	d.text(d.blank(more), last, "}")
}

// properties are what a set of schemas says of an object.
type properties struct {
	names    []string
	values   []set
	required map[string]bool
	open     bool // properties without a name here may be there
	others   set  // their schemas
	least    int
}

func (c *compiler) properties(s set) properties {
	p := properties{required: map[string]bool{}}
	declares, says := false, false
	seen := map[string]bool{}
	name := func(n string) {
		if !seen[n] {
			seen[n] = true
			p.names = append(p.names, n)
		}
	}
	p.open = true
	for _, v := range s {
		if f := v.fields["properties"]; f != nil {
			if f.kind != '{' {
				fail("schema at %s: expected an object", f.pointer())
			}
			declares = true
			for _, n := range f.keys {
				name(n)
			}
		}
		if f := v.fields["additionalProperties"]; f != nil {
			says = true
			p.others = join(p.others, set{f})
			p.open = p.open && f.kind != 'f'
		}
	}
	for _, v := range s {
		for _, n := range v.texts("required") {
			name(n)
			p.required[n] = true
		}
	}
	if declares && !says && !c.options.Open {
		p.open = false
	}
	for _, n := range p.names {
		c.meter.spend(4 * len(s) * len(s))
		value, declared := set{}, false
		for _, v := range s {
			f := v.fields["properties"]
			if f != nil && f.fields[n] != nil {
				value, declared = join(value, set{f.fields[n]}), true
			} else if f := v.fields["additionalProperties"]; f != nil {
				value = join(value, set{f})
			}
		}
		if !declared && declares && !says && !c.options.Open {
			value = nil // required by name alone: any value, though others may not be there
		}
		p.values = append(p.values, value)
	}
	p.bounds(s)
	return p
}

// bounds takes minProperties and maxProperties where they follow from the rest.
func (p *properties) bounds(s set) {
	for _, v := range s {
		least := v.count("minProperties", 0)
		if least == 1 && len(p.required) == 0 {
			p.least = 1
		} else if least > len(p.required) {
			fail("schema at %s: keyword \"minProperties\" is supported up to the number of required properties, or 1", v.pointer())
		}
		if most := v.count("maxProperties", len(p.names)); v.fields["maxProperties"] != nil && (p.open || most < len(p.names)) {
			fail("schema at %s: keyword \"maxProperties\" is supported where no more properties are possible", v.pointer())
		}
	}
}

// freeKey writes the key of a property that has none of some names. Each key can be
// written in one way only, so that no escape makes it one of the names after all.
func freeKey(d *draft, names []string) {
	names = slices.Clone(names)
	slices.Sort(names)
	tail := d.state()
	d.canonical(tail, tail, anyRune)
	end := d.state()
	d.skip(tail, end)
	d.text(end, last, `"`)
	var branch func(at int32, names [][]rune)
	branch = func(at int32, names [][]rune) {
		var firsts []rune
		taken := false
		for i := 0; i < len(names); {
			if len(names[i]) == 0 {
				taken = true
				i++
				continue
			}
			r := names[i][0]
			var rest [][]rune
			for ; i < len(names) && len(names[i]) > 0 && names[i][0] == r; i++ {
				rest = append(rest, names[i][1:])
			}
			firsts = append(firsts, r)
			next := d.state()
			d.canonical(at, next, class{{r, r}})
			branch(next, rest)
		}
		d.canonical(at, tail, without(anyRune, firsts...))
		if !taken {
			d.skip(at, end)
		}
	}
	var runes [][]rune
	for _, n := range names {
		runes = append(runes, []rune(n))
	}
	branch(d.then(first, `"`), runes)
}

// array writes the arrays for which a set of schemas holds.
func (c *compiler) array(d *draft, s set) {
	a := c.items(s)
	bounded := max(len(a.prefix), a.least, a.most)
	open := d.then(first, "[")
	closing := d.state()
	d.text(d.blank(closing), last, "]")
	if a.least == 0 {
		d.text(open, last, "]")
	}
	at := d.blank(open)
	for i := 0; a.most < 0 || i < a.most; i++ {
		after := d.state()
		switch {
		case i < len(a.prefix):
			c.value(d, at, after, a.prefix[i])
		case a.closed:
			return
		case bounded > 2:
			c.shared(d, at, after, a.rest)
		default:
			c.value(d, at, after, a.rest)
		}
		if i+1 >= a.least {
			d.skip(after, closing)
		}
		next := d.blank(d.then(after, ","))
		if a.most < 0 && i >= bounded {
			d.skip(next, at)
			return
		}
		at = next
	}
}

// items are what a set of schemas says of an array.
type items struct {
	prefix []set // of the first items
	rest   set   // of those after them
	closed bool  // none may come after them
	least  int
	most   int // < 0: no bound
}

func (c *compiler) items(s set) items {
	a := items{most: -1}
	prefixes := make([][]*value, len(s))
	rests := make([]*value, len(s))
	says := false
	for i, v := range s {
		prefixes[i], rests[i] = v.schemas("prefixItems"), v.fields["items"]
		if f := rests[i]; f != nil && f.kind == '[' { // as until draft 2019-09
			prefixes[i], rests[i] = f.items, v.fields["additionalItems"]
		}
		says = says || rests[i] != nil
		a.least = max(a.least, v.count("minItems", 0))
		if most := v.count("maxItems", -1); most >= 0 && (a.most < 0 || most < a.most) {
			a.most = most
		}
		for len(a.prefix) < len(prefixes[i]) {
			a.prefix = append(a.prefix, nil)
		}
		if rests[i] != nil {
			a.rest = join(a.rest, set{rests[i]})
			a.closed = a.closed || rests[i].kind == 'f'
		}
	}
	for i := range a.prefix {
		for j := range s {
			if i < len(prefixes[j]) {
				a.prefix[i] = join(a.prefix[i], set{prefixes[j][i]})
			} else if rests[j] != nil {
				a.prefix[i] = join(a.prefix[i], set{rests[j]})
			}
		}
	}
	if len(a.prefix) > 0 && !says && !c.options.Open {
		a.closed = true
	}
	return a
}
