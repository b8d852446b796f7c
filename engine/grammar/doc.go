// Package grammar holds a model to a form: JSON, a JSON Schema, a regular expression
// or a choice of texts. For every step it says which tokens may come, and no text that
// is made of such tokens can miss the form.
//
//	v := grammar.NewVocabulary(t.Size(), t.Bytes, t.Special, ends) // once per tokenizer
//	g, err := grammar.Schema(ctx, schema, grammar.Options{})      // once per schema
//	m := g.Matcher(v)                                              // once per request
//	for !m.Done() {
//		m.Mask(bits)
//		m.Accept(sample(bits))
//	}
//
// # How it works
//
// A form is compiled to rules, each a nondeterministic automaton over bytes and calls
// of other rules (draft), which is made deterministic (determinize). Together they are
// a pushdown automaton over bytes: tokens may end within a character, and begin in one
// part of a document and end in another. A Matcher keeps the set of its states, with
// stacks that share their parts (walk).
//
// A mask is found by walking the trie of the vocabulary. What a state lets before its
// rule ends does not depend on the stack, so that it is found once per grammar and
// vocabulary and kept; only the few tokens that go on after the end of a rule are
// walked each time. This is the split of Dong et al., XGrammar (2024), section 3.1.
//
// # Bounds
//
// Whatever may be repeated without meaning is bounded, so that a model cannot go on
// for ever without saying anything: white space is one space, or a line break and at
// most 20 spaces; numbers have at most 18 digits before and after the point, and
// exponents 2; objects and arrays are at most 64 levels deep, beyond what a schema
// requires. What compilation may cost is bounded, too: draft.go has the numbers.
//
// The states that cannot reach an end are cut when a grammar is compiled, and nesting
// is stopped before its end would lie beyond the limit. So a text can always be ended.
//
// A Grammar and a Vocabulary are safe for concurrent use, a Matcher is not.
package grammar
