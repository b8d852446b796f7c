package grammar

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// Options say how documents of a schema are written.
type Options struct {
	// Compact lets no line breaks between the parts of a document, only one space,
	// or none, where the parts of an object or an array begin and end, and after colons.
	Compact bool
	// Open lets properties and items that a schema neither names nor forbids, as JSON
	// Schema has it. Otherwise a schema that names properties, or the first items, and
	// does not say what else may be there lets nothing else, which is what models
	// trained on strict schemas expect.
	Open bool
}

// JSON is the grammar of JSON objects: RFC 8259, with bounds on white space, on digits
// and on nesting (see the package comment). It is the same each time.
func JSON() *Grammar { return anyObject() }

var anyObject = sync.OnceValue(func() *Grammar {
	c := newCompiler(context.Background(), Options{})
	g, err := c.compile(func(d *draft) {
		d.call(first, last, c.rule("object", true, func(d *draft) { c.object(d, nil) }))
	})
	if err != nil {
		panic(err) // the grammar above is wrong
	}
	return g
})

// Schema is the grammar of the JSON documents for which a JSON Schema holds. Errors are
// for whoever wrote the schema: they name the place and the keyword. A schema that costs
// too much is refused as "schema is too large: …". When ctx ends, compilation does, with
// its cause.
func Schema(ctx context.Context, schema json.RawMessage, o Options) (*Grammar, error) {
	return compileSchema(ctx, schema, o)
}

// Regex is the grammar of the texts that a regular expression matches as a whole, in
// the dialect that ECMA-262 and RE2 have in common.
func Regex(ctx context.Context, pattern string) (*Grammar, error) {
	s, err := parsePattern(pattern, false)
	if err != nil {
		return nil, err
	}
	g, err := newCompiler(ctx, Options{}).compile(func(d *draft) { d.write(first, last, s, d.raw) })
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	return g, nil
}

// Choice is the grammar of a few fixed texts.
func Choice(ctx context.Context, choices []string) (*Grammar, error) {
	if len(choices) == 0 {
		return nil, errors.New("choice has no texts to choose from")
	}
	return newCompiler(ctx, Options{}).compile(func(d *draft) {
		for _, c := range choices {
			d.text(first, last, c)
		}
	})
}
