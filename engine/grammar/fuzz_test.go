package grammar

import (
	"context"
	"encoding/json"
	"testing"
)

// FuzzSchema compiles anything, and takes a walk with what compiles: masks are what
// Allows says, and something may always come.
func FuzzSchema(f *testing.F) {
	for _, s := range []string{
		personSchema, `true`, `{}`, `{"type":["string","null"],"pattern":"^a|b$","maxLength":3}`, `{"enum":[1,"a",{"b":[]}],"type":"object"}`,
		`{"allOf":[{"$ref":"#/$defs/a"},{"anyOf":[{"minimum":-1.5},{"exclusiveMaximum":1e2}]}],"$defs":{"a":{"type":"number"}}}`,
		`{"type":"array","prefixItems":[{"$ref":"#"}],"items":false,"minItems":1}`, `{"type":"object","required":["a"],"additionalProperties":{"nullable":true,"type":"integer"}}`,
	} {
		f.Add([]byte(s), uint64(len(s)))
	}
	v := testVocabulary()
	f.Fuzz(func(t *testing.T, schema []byte, seed uint64) {
		g, err := Schema(context.Background(), json.RawMessage(schema), Options{Open: seed%2 == 0})
		if err != nil {
			return
		}
		m := g.Matcher(v)
		for range 40 {
			tokens := allowed(t, m, v)
			if len(tokens) == 0 {
				t.Fatal("nothing may come")
			}
			seed = seed*6364136223846793005 + 1442695040888963407
			if token := tokens[int(seed>>33)%len(tokens)]; !m.Accept(token) {
				t.Fatalf("token %d is in the mask and not accepted", token)
			}
			if m.Done() {
				return
			}
		}
	})
}

// FuzzMatcher reads any bytes under a grammar, in two cuttings, and goes back.
func FuzzMatcher(f *testing.F) {
	f.Add([]byte(personDocument), uint8(9))
	f.Add([]byte(`{"name": "\ud83d\ude00", "age": 15`), uint8(3))
	v := testVocabulary()
	g, err := Schema(context.Background(), []byte(personSchema), Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut uint8) {
		m := g.Matcher(v)
		for i, b := range text {
			before := m.Len()
			if !m.Accept(int32(b)) {
				if m.Len() != before {
					t.Fatal("a token that is refused is kept")
				}
				break
			}
			if i == int(cut) {
				c := m.Clone()
				c.Rollback(i)
				for _, b := range text[1 : i+1] {
					if !c.Accept(int32(b)) {
						t.Fatal("refused after going back")
					}
				}
			}
		}
		if n := m.Len(); m.Complete() && !json.Valid(text[:n]) {
			t.Fatalf("%q is taken and no JSON", text[:n])
		}
	})
}

// FuzzRegex compiles any expression.
func FuzzRegex(f *testing.F) {
	for _, s := range []string{`a|b`, `^(?:^a|b$)$`, `(?i)[^a-z]{2,5}\p{L}`, `(|a)*$`, `\xff`, `[^\x00-\x{10FFFF}]`} {
		f.Add(s)
	}
	v := testVocabulary()
	f.Fuzz(func(t *testing.T, pattern string) {
		g, err := Regex(context.Background(), pattern)
		if err == nil {
			allowed(t, g.Matcher(v), v)
		}
	})
}
