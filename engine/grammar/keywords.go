package grammar

import "slices"

// What is done with the keywords of JSON Schema 2020-12, of the drafts before it and
// of OpenAPI. Keywords that are in no list are annotations, as the specification says
// of unknown ones.
var (
	// A schema that says nothing of the type is for the values that its other
	// keywords are about.
	objectKeywords = []string{"properties", "required", "additionalProperties", "minProperties", "maxProperties"}
	arrayKeywords  = []string{"items", "prefixItems", "additionalItems", "minItems", "maxItems"}
	stringKeywords = []string{"minLength", "maxLength", "pattern", "format"}
	numberKeywords = []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
	literalKeyword = []string{"enum", "const"}
	// Refused, because leaving them out would change what a schema means.
	refused = []string{
		"not", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies", "patternProperties",
		"propertyNames", "unevaluatedProperties", "unevaluatedItems", "contains", "minContains", "maxContains",
		"uniqueItems", "multipleOf", "$dynamicRef", "$recursiveRef",
	}
)

// kinds are sets of JSON's types. An integer is a number, too.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBoolean
	kindInteger
	kindFraction // numbers that are no integers
	kindString
	kindArray
	kindObject
	kindNumber = kindInteger | kindFraction
	anyKind    = kindNull | kindBoolean | kindNumber | kindString | kindArray | kindObject
)

var kindNames = map[string]kinds{
	"null": kindNull, "boolean": kindBoolean, "integer": kindInteger, "number": kindNumber,
	"string": kindString, "array": kindArray, "object": kindObject,
}

// check refuses what is no schema and what cannot be held to.
func (v *value) check() {
	switch v.kind {
	case 't', 'f':
		return
	case '{':
	default:
		fail("schema at %s: expected an object or a boolean", v.pointer())
	}
	for _, key := range v.keys {
		if !slices.Contains(refused, key) {
			continue
		}
		if f := v.fields[key]; f.kind == 'f' && key == "uniqueItems" || f.kind == '{' && len(f.keys) == 0 && key == "patternProperties" {
			continue // as if it were not there
		}
		fail("schema at %s: keyword %q is not supported", v.pointer(), key)
	}
	if v.parent != nil && v.fields["$id"] != nil && v.fields["$id"].kind == '"' {
		fail("schema at %s: keyword \"$id\" is supported at the root only", v.pointer())
	}
	if n := v.fields["nullable"]; n != nil && n.kind != 't' && n.kind != 'f' {
		fail("schema at %s: expected a boolean", n.pointer())
	}
}

// has says whether a schema has one of some keywords.
func (v *value) has(keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { return v.fields[k] != nil })
}

// asserts says whether a schema says something of its own, beside combining others.
func (v *value) asserts() bool {
	return v.has("type") || v.has(literalKeyword...) || v.has(objectKeywords...) || v.has(arrayKeywords...) ||
		v.has(stringKeywords...) || v.has(numberKeywords...)
}

// kinds are the types that a schema's own keywords let.
func (v *value) kinds() kinds {
	t := v.fields["type"]
	if t == nil {
		return anyKind
	}
	names := t.items
	if t.kind == '"' {
		names = []*value{t}
	} else if t.kind != '[' {
		fail("schema at %s: expected the name of a type, or an array of them", t.pointer())
	}
	var set kinds
	for _, name := range names {
		k, ok := kindNames[name.text]
		if name.kind != '"' || !ok {
			fail("schema at %s: expected null, boolean, integer, number, string, array or object, got %q", t.pointer(), name.text)
		}
		set |= k
	}
	return set
}

// implied are the types that a schema's keywords are about, when it names none.
func (v *value) implied() kinds {
	var set kinds
	for k, keywords := range map[kinds][]string{
		kindObject: objectKeywords, kindArray: arrayKeywords, kindString: stringKeywords, kindNumber: numberKeywords,
	} {
		if v.has(keywords...) {
			set |= k
		}
	}
	return set
}

// count is a keyword's value where it is a count, or other when it is not there.
func (v *value) count(keyword string, other int) int {
	f := v.fields[keyword]
	if f == nil {
		return other
	}
	if f.kind != '0' {
		fail("schema at %s: expected a count", f.pointer())
	}
	b := parseBound(f.text, false, f.pointer())
	if b.value.Sign() < 0 || b.fraction != "" {
		fail("schema at %s: expected a count, got %s", f.pointer(), f.text)
	}
	if len(b.whole) > 9 || !b.value.Num().IsInt64() || b.value.Num().Int64() > maxStates {
		tooLarge("%s %s at %s, at most %d can be held to", keyword, f.text, v.pointer(), maxStates)
	}
	return int(b.value.Num().Int64())
}

// schemas are the parts of a keyword that is an array of schemas.
func (v *value) schemas(keyword string) []*value {
	f := v.fields[keyword]
	if f == nil {
		return nil
	}
	if f.kind != '[' {
		fail("schema at %s: expected an array of schemas", f.pointer())
	}
	return f.items
}

// texts is a keyword's value where it is an array of strings.
func (v *value) texts(keyword string) []string {
	f := v.fields[keyword]
	if f == nil {
		return nil
	}
	var out []string
	for _, item := range f.items {
		if item.kind == '"' {
			out = append(out, item.text)
		}
	}
	if f.kind != '[' || len(out) != len(f.items) {
		fail("schema at %s: expected an array of strings", f.pointer())
	}
	return out
}
